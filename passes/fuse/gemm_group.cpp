#include "passes/fuse/gemm_group.h"

using namespace mlir;

namespace smelt::passes {

SmallVector<MatmulOp> gemmProducts(func::FuncOp function) {
  SmallVector<MatmulOp> matmuls;
  for (auto matmul : function.getBody().front().getOps<MatmulOp>()) {
    Type element = tensorType(matmul.getOutput()).getElementType();
    if (isFree(matmul) && isa<FloatType>(element) && !element.isF64())
      matmuls.push_back(matmul);
  }
  return matmuls;
}

FusionGroup growGemm(MatmulOp matmul, llvm::function_ref<bool(Operation *)> isTaken) {
  FusionGroup group;
  group.add(matmul);
  Dim elements = tensorType(matmul.getOutput()).getNumElements();
  growEpilogue(group, matmul.getOutput(), [&](Operation *op) {
    return (op->hasTrait<Elementwise>() || isa<ReshapeOp>(op)) && !(isTaken && isTaken(op)) &&
           tensorType(op->getResult(0)).getNumElements() == elements;
  });
  return group;
}

bool isRowStatistic(Operation *op) {
  return isa_and_nonnull<MomentsMeanOp, MomentsRstdOp, MomentsRrmsOp>(op);
}

} // namespace smelt::passes
