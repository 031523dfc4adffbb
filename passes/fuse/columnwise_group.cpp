#include "passes/fuse/columnwise_group.h"

using namespace mlir;

namespace smelt::passes {

bool isColumnwise(ReduceOp op) {
  return isFree(op) && !op.getFirstReducedAxis() && !op.getAxes().empty();
}

ColumnwiseKernel planColumnwise(ReduceOp reduction, llvm::function_ref<bool(Operation *)> taken) {
  ColumnwiseKernel kernel{reduction, {}, {}};
  kernel.group.add(reduction);
  Dim results = tensorType(reduction.getOutput()).getNumElements();
  kernel.boundary = growEpilogue(kernel.group, [&](Operation *op) {
    return (op->hasTrait<Elementwise>() || isa<ReshapeOp>(op)) && !(taken && taken(op)) &&
           tensorType(op->getResult(0)).getNumElements() == results;
  });
  return kernel;
}

SmallVector<ColumnwiseKernel, 0> planColumnwise(func::FuncOp function, const GemmPlan &products) {
  SmallVector<ColumnwiseKernel, 0> kernels;
  auto isTaken = [&](Operation *op) {
    return products.kernelOf(op) || llvm::any_of(kernels, [&](const ColumnwiseKernel &kernel) {
             return kernel.group.contains(op);
           });
  };
  for (auto reduction : function.getBody().front().getOps<ReduceOp>())
    if (isColumnwise(reduction))
      kernels.push_back(planColumnwise(reduction, isTaken));
  return kernels;
}

bool ColumnwiseKernel::keepsRows() const {
  Value results = ReduceOp(reduction).getOutput();
  return llvm::all_of(group.ops(), [&](Operation *op) {
    return !isa<ReshapeOp>(op) || haveSameColumns(op->getResult(0), results);
  });
}

SmallVector<RowMomentsOp> momentsOfRows(const FusionGroup &group) {
  SmallVector<RowMomentsOp> found;
  for (Value end : group.liveOuts())
    for (Operation *user : end.getUsers())
      if (auto moments = dyn_cast<RowMomentsOp>(user); moments && isFree(moments))
        found.push_back(moments);
  return found;
}

} // namespace smelt::passes
