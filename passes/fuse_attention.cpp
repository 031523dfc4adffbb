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

bool isBroadcastOrReshape(Operation *op) { return isa<ExpandOp, ReshapeOp>(op); }

struct FuseAttention : impl::FuseAttentionBase<FuseAttention> {
  void runOnOperation() override {
    SmallVector<AttentionOp> attentions;
    getOperation().walk([&](AttentionOp op) {
      if (isFree(op))
        attentions.push_back(op);
    });
    for (AttentionOp attention : attentions) {
      FusionGroup group;
      group.add(attention);
      growEpilogue(group, attention.getOutput(),
                   [](Operation *op) { return isa<TransposeOp, ReshapeOp>(op); });
      for (OpOperand &operand : attention->getOpOperands().take_front(3))
        group.absorbViews(operand);
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
