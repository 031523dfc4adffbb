// Makes each attention one kernel, with the views around it.
//
// The views before query, key and value (slices of a packed QKV buffer, splits into heads) become
// address arithmetic of the kernel's loads, the merge of heads after it becomes that of its stores:
// no head-split copy exists. Of the bias only broadcasts are drawn in: the mask itself is computed
// once by a pointwise kernel and shared by all layers. (Masks of keys that each layer computes of the
// model's input take a kernel less, but on an H200 BERT-base at 1x128 took as long, MiniLM 6 % longer.)
#include "passes/fuse/attention_rows.h"
#include "passes/fuse/fusion_group.h"
#include "passes/passes.h"
#include "passes/remark.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_FUSEATTENTION
#include "passes/passes.h.inc"

namespace {

/// What a bias may be drawn through: its rows need not be contiguous, and literals are expressions.
bool isPartOfBias(Operation *op) { return isa<ExpandOp, ReshapeOp>(op) || !op->hasTrait<View>(); }

struct FuseAttention : impl::FuseAttentionBase<FuseAttention> {
  void runOnOperation() override {
    Remarks remarks(getOperation());
    SmallVector<AttentionOp> attentions;
    getOperation().walk([&](AttentionOp op) {
      if (isFree(op) && hasAttentionTemplate(op.getQuery(), op.getValue()))
        attentions.push_back(op);
    });
    for (AttentionOp attention : attentions)
      fuse(attention, remarks);
  }

private:
  static void fuse(AttentionOp attention, Remarks &remarks) {
    FusionGroup group;
    group.add(attention);
    AttentionRows stored(attention.getOutput(), RowDistance::any);
    growEpilogue(group, [&](Operation *op) {
      return isa<TransposeOp, ReshapeOp>(op) && stored.keptAfter(op);
    });
    for (OpOperand &operand : attention->getOpOperands().take_front(3)) {
      AttentionRows loaded(operand.get(), RowDistance::constant);
      group.absorbViews(operand, [&](Operation *op) {
        bool kept = loaded.keptBefore(op);
        if (!kept && op->hasTrait<View>())
          remarks.refused(op->getLoc(), "attention operand",
                          "elements of a row stay neighbours, rows a constant distance apart",
                          "the tensor is stored before the attention reads it");
        return kept;
      });
    }
    if (attention.getBias())
      group.absorbViews(attention->getOpOperand(3), isPartOfBias);
    group.outline(FusionKind::attention);
  }
};

} // namespace
} // namespace smelt::passes
