// Makes each attention one kernel, with the views around it.
//
// The views before query, key and value (slices of a packed QKV buffer, splits into heads) become
// address arithmetic of the kernel's loads, the merge of heads after it becomes that of its stores:
// no head-split copy exists. Of the bias only broadcasts are drawn in: the mask itself is computed
// once by a pointwise kernel and shared by all layers.
#include "passes/coordinates.h"
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

/// The rows of a tensor [batch, head, row, element] of an attention, followed through views.
class Rows {
public:
  Rows(Value tensor, RowDistance distance)
      : shape(tensorType(tensor).getShape()), bounds(coordinateBounds(shape)), distance(distance) {
    positions[tensor] = coordinatesOf(shape, tensor.getContext());
  }

  /// The templates reach them before `view`, whose result is a tensor that was seen.
  bool keptBefore(Operation *view) {
    if (!view->hasTrait<View>()) // a literal: the templates read tensors
      return false;
    Index before = operandIndex(view, positions.at(view->getResult(0)), bounds);
    return keep(view->getOperand(0), before);
  }

  /// They still do after `view`, whose operand is a tensor that was seen.
  bool keptAfter(Operation *view) {
    std::optional<Index> after = resultIndex(view, positions.at(view->getOperand(0)), bounds);
    return after && keep(view->getResult(0), *after);
  }

private:
  bool keep(Value tensor, const Index &index) {
    positions[tensor] = index;
    Index own = coordinatesOf(shape, tensor.getContext());
    return hasRegularRows(linearize(index, tensorType(tensor).getShape(), tensor.getContext()),
                          own[2], own[3], distance);
  }

  SmallVector<Dim> shape;
  Bounds bounds;
  RowDistance distance;
  llvm::DenseMap<Value, Index> positions; // of tensors seen, by the coordinates of the first
};

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
    Rows stored(attention.getOutput(), RowDistance::any);
    growEpilogue(group, [&](Operation *op) {
      return isa<TransposeOp, ReshapeOp>(op) && stored.keptAfter(op);
    });
    for (OpOperand &operand : attention->getOpOperands().take_front(3)) {
      Rows loaded(operand.get(), RowDistance::constant);
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
