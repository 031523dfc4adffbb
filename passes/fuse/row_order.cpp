#include "passes/fuse/row_order.h"

#include "passes/fuse/fusion_group.h"

using namespace mlir;

namespace smelt::passes {

namespace {

/// Neighbours along the last axis that a transposition must leave together: 16 bytes of 16-bit elements.
constexpr int64_t kNeighbours = 8;

/// A view of all elements that leaves whole vectors of neighbours together, free to join a kernel.
bool isReordering(Operation *op) {
  if (!isFree(op) || !op->hasOneUse())
    return false;
  if (isa<ReshapeOp>(op))
    return true;
  auto transpose = dyn_cast<TransposeOp>(op);
  if (!transpose)
    return false;
  TensorType type = tensorType(transpose.getInput());
  std::optional<int64_t> last = type.getDim(type.getRank() - 1).asConstant();
  return transpose.getPermutation().back() + 1 == static_cast<int64_t>(type.getRank()) && last &&
         *last % kNeighbours == 0;
}

} // namespace

bool isStoredInOrder(Value operand) {
  bool reorders = false;
  Operation *op = operand.getDefiningOp();
  for (; op && isReordering(op); op = op->getOperand(0).getDefiningOp())
    reorders |= isa<TransposeOp>(op);
  return reorders && isa_and_nonnull<Normalization>(op) && isFree(op) && op->hasOneUse();
}

SmallVector<Operation *> rowOrderBefore(Value rows) {
  SmallVector<Operation *> views;
  Value value = rows;
  for (; value.hasOneUse() && isReordering(*value.user_begin()); value = views.back()->getResult(0))
    views.push_back(*value.user_begin());
  auto reader = value.hasOneUse() ? dyn_cast<FusionOp>(*value.user_begin()) : FusionOp();
  bool reorders = llvm::any_of(views, llvm::IsaPred<TransposeOp>);
  if (!reader || reader.getKind() != FusionKind::gemm || !reorders)
    return {};
  return views;
}

} // namespace smelt::passes
