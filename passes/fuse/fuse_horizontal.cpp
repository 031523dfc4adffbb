// Merges matrix products that read the same left operand into one, side by side along the columns.
//
//   q = x Wq + bq        y = x [Wq|Wk|Wv] + [bq|bk|bv]
//   k = x Wk + bk   =>   q = y[:, :n]  k = y[:, n:2n]  v = y[:, 2n:]
//   v = x Wv + bv
//
// Three small GEMMs leave most of the GPU idle and read x three times. The concatenated weight is a
// weight expression, evaluated once at compile time; the slices are views that fold into the loads
// of whoever reads q, k and v. Assumes constant two-dimensional right operands with equal K and
// element type. A product without a bias among products with one takes zeros.
#include "passes/fuse/fusion_group.h"
#include "passes/passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_FUSEHORIZONTAL
#include "passes/passes.h.inc"

namespace {

/// One product of a group: the matmul, and its bias add where it has one.
struct Branch {
  MatmulOp matmul;
  AddOp add;
  Value bias;
};

Branch findBranch(MatmulOp matmul) {
  Branch branch{matmul, nullptr, nullptr};
  if (!matmul->hasOneUse())
    return branch;
  auto add = dyn_cast<AddOp>(*matmul->user_begin());
  if (!add)
    return branch;
  Value bias = add.getLhs() == matmul.getOutput() ? add.getRhs() : add.getLhs();
  TensorType type = tensorType(bias);
  Dim columns = tensorType(matmul.getRhs()).getDim(1);
  if (type.getRank() == 1 && type.getDim(0) == columns && isWeightExpression(bias))
    branch.add = add, branch.bias = bias;
  return branch;
}

bool isMergeable(MatmulOp matmul) {
  TensorType rhs = tensorType(matmul.getRhs());
  return isFree(matmul) && rhs.getRank() == 2 && isWeightExpression(matmul.getRhs());
}

Value zeros(OpBuilder &builder, Location location, Dim columns, Type elementType) {
  auto type = RankedTensorType::get({*columns.asConstant()}, elementType);
  return ConstantOp::create(builder, location,
                            DenseElementsAttr::get(type, builder.getZeroAttr(elementType)));
}

void merge(ArrayRef<Branch> branches) {
  MatmulOp first = branches.front().matmul;
  OpBuilder builder(first);
  SmallVector<Location> locations;
  SmallVector<Value> weights, biases;
  bool anyBias = llvm::any_of(branches, [](const Branch &branch) { return branch.add; });
  for (Branch branch : branches) {
    locations.push_back(branch.matmul.getLoc());
    if (branch.add)
      locations.push_back(branch.add.getLoc());
  }
  Location location = builder.getFusedLoc(locations);
  for (Branch branch : branches) {
    TensorType rhs = tensorType(branch.matmul.getRhs());
    weights.push_back(branch.matmul.getRhs());
    biases.push_back(branch.bias ? branch.bias
                                 : zeros(builder, location, rhs.getDim(1), rhs.getElementType()));
  }
  Value weight = ConcatOp::create(builder, location, weights, 1);
  Value result = MatmulOp::create(builder, location, first.getLhs(), weight);
  if (anyBias)
    result =
        AddOp::create(builder, location, result, ConcatOp::create(builder, location, biases, 0));
  TensorType type = tensorType(result);
  Dim zero = Dim::constant(builder.getContext(), 0), start = zero;
  for (Branch branch : branches) {
    Operation *replaced = branch.add ? branch.add.getOperation() : branch.matmul.getOperation();
    SmallVector<Attribute> starts(type.getRank() - 1, zero.getAttribute());
    starts.push_back(start.getAttribute());
    SmallVector<int64_t> steps(type.getRank(), 1);
    Value slice = SliceOp::create(builder, replaced->getLoc(), replaced->getResult(0).getType(),
                                  result, builder.getArrayAttr(starts), steps);
    replaced->getResult(0).replaceAllUsesWith(slice);
    start = start + tensorType(branch.matmul.getRhs()).getDim(1);
  }
  for (Branch branch : branches) {
    if (branch.add)
      branch.add->erase();
    branch.matmul->erase();
  }
}

struct FuseHorizontal : impl::FuseHorizontalBase<FuseHorizontal> {
  void runOnOperation() override {
    llvm::MapVector<std::pair<Value, Type>, SmallVector<Branch>> groups;
    getOperation().walk([&](MatmulOp matmul) {
      if (isMergeable(matmul))
        groups[{matmul.getLhs(), tensorType(matmul.getRhs()).getElementType()}].push_back(
            findBranch(matmul));
    });
    for (auto &[key, branches] : groups)
      if (branches.size() > 1)
        merge(branches);
    if (failed(sortFunction(getOperation())))
      signalPassFailure();
  }
};

} // namespace
} // namespace smelt::passes
