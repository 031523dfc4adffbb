// Makes each attention one kernel, with the views around it.
//
// The views before query, key and value (slices of a packed QKV buffer, splits into heads) become
// address arithmetic of the kernel's loads, the merge of heads after it becomes that of its stores:
// no head-split copy exists. Of the bias only broadcasts are drawn in: the mask itself is computed
// once by a pointwise kernel and shared by all layers.
#include "passes/fusion_group.h"
#include "passes/passes.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_FUSEATTENTION
#include "passes/passes.h.inc"

namespace {

constexpr int64_t kMaxHeadSize = 256;

bool isBroadcastOrReshape(Operation *op) { return isa<ExpandOp, ReshapeOp>(op); }

/// Element types and head sizes that the attention templates take; others become `generic`.
bool hasTemplate(AttentionOp op) {
  Type element = tensorType(op.getQuery()).getElementType();
  auto fits = [](Value operand) {
    auto size = tensorType(operand).getDim(3).asConstant();
    return size && *size > 0 && *size <= kMaxHeadSize;
  };
  return (element.isF16() || element.isBF16() || element.isF32()) && fits(op.getQuery()) &&
         fits(op.getValue());
}

/// Rows of `size` elements stay contiguous through the view; `side` is its operand or result on the
/// side away from the attention.
bool keepsRows(Operation *op, Value side, Dim size) {
  TensorType input = tensorType(op->getOperand(0)), output = tensorType(op->getResult(0));
  if (input.getRank() == 0 || output.getRank() == 0)
    return false;
  if (auto transpose = dyn_cast<TransposeOp>(op))
    return transpose.getPermutation().back() == input.getRank() - 1;
  if (auto slice = dyn_cast<SliceOp>(op))
    return slice.getSteps().back() == 1;
  if (isa<ExpandOp>(op))
    return input.getDim(input.getRank() - 1) == output.getDim(output.getRank() - 1);
  TensorType away = tensorType(side);
  return away.getDim(away.getRank() - 1).exactDiv(size).has_value();
}

struct FuseAttention : impl::FuseAttentionBase<FuseAttention> {
  void runOnOperation() override {
    SmallVector<AttentionOp> attentions;
    getOperation().walk([&](AttentionOp op) {
      if (isFree(op) && hasTemplate(op))
        attentions.push_back(op);
    });
    for (AttentionOp attention : attentions) {
      FusionGroup group;
      group.add(attention);
      Dim valueSize = tensorType(attention.getValue()).getDim(3);
      growEpilogue(group, attention.getOutput(), [&](Operation *op) {
        return isa<TransposeOp, ReshapeOp>(op) && keepsRows(op, op->getResult(0), valueSize);
      });
      for (OpOperand &operand : attention->getOpOperands().take_front(3)) {
        Dim size = tensorType(operand.get()).getDim(3);
        group.absorbViews(operand,
                          [&](Operation *op) { return keepsRows(op, op->getOperand(0), size); });
      }
      if (attention.getBias())
        group.absorbViews(attention->getOpOperand(3), isBroadcastOrReshape);
      group.outline(FusionKind::attention);
    }
    if (failed(sortFunction(getOperation())))
      signalPassFailure();
  }
};

} // namespace
} // namespace smelt::passes
