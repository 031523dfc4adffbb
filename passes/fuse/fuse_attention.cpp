// Makes each attention one kernel, with the views around it.
//
// The views before query, key and value (slices of a packed QKV buffer, splits into heads) become
// address arithmetic of the kernel's loads, the merge of heads after it becomes that of its stores:
// no head-split copy exists. Of the bias only broadcasts are drawn in: the mask itself is computed
// once by a pointwise kernel and shared by all layers.
#include "passes/coordinates.h"
#include "passes/fuse/fusion_group.h"
#include "passes/passes.h"
#include "passes/raise/expand_attention.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_FUSEATTENTION
#include "passes/passes.h.inc"

namespace {

/// What a bias may be drawn through: its rows need not be contiguous, and literals are expressions.
bool isPartOfBias(Operation *op) { return isa<ExpandOp, ReshapeOp>(op) || !op->hasTrait<View>(); }

/// What the templates ask of a tensor of [batch, head, row, element]: the elements of a row are
/// neighbours, and where rows are read many at a time, they are a constant distance apart.
class Rows {
public:
  enum class Distance { any, constant };

  Rows(Value tensor, Distance distance)
      : shape(tensorType(tensor).getShape()), bounds(coordinateBounds(shape)), distance(distance) {
    positions[tensor] = coordinatesOf(shape, tensor.getContext());
  }

  /// They still are before `view`, whose result is a tensor that was seen.
  bool keptBefore(Operation *view) {
    if (!view->hasTrait<View>()) // a literal: the templates read tensors
      return false;
    Index before = operandIndex(view, positions.at(view->getResult(0)), bounds);
    return keep(view->getOperand(0), before);
  }

  /// They still are after `view`, whose operand is a tensor that was seen.
  bool keptAfter(Operation *view) {
    std::optional<Index> after = resultIndex(view, positions.at(view->getOperand(0)), bounds);
    return after && keep(view->getResult(0), *after);
  }

private:
  bool keep(Value tensor, const Index &index) {
    Dim offset = linearize(index, tensorType(tensor).getShape(), tensor.getContext());
    auto step = [&](unsigned axis) {
      return linearFactor(offset, *coordinate(tensor.getContext(), axis).asSymbol());
    };
    positions[tensor] = index;
    bool areNeighbours = shape[3].isConstant(1) || (step(3) && step(3)->isConstant(1));
    return areNeighbours && (distance == Distance::any || step(2));
  }

  SmallVector<Dim> shape;
  Bounds bounds;
  Distance distance;
  llvm::DenseMap<Value, Index> positions; // of tensors seen, by the coordinates of the first
};

struct FuseAttention : impl::FuseAttentionBase<FuseAttention> {
  void runOnOperation() override {
    SmallVector<AttentionOp> attentions;
    getOperation().walk([&](AttentionOp op) {
      if (isFree(op) && hasAttentionTemplate(op.getQuery(), op.getValue()))
        attentions.push_back(op);
    });
    for (AttentionOp attention : attentions) {
      FusionGroup group;
      group.add(attention);
      Rows stored(attention.getOutput(), Rows::Distance::any);
      growEpilogue(group, attention.getOutput(), [&](Operation *op) {
        return isa<TransposeOp, ReshapeOp>(op) && stored.keptAfter(op);
      });
      for (OpOperand &operand : attention->getOpOperands().take_front(3)) {
        Rows loaded(operand.get(), Rows::Distance::constant);
        group.absorbViews(operand, [&](Operation *op) { return loaded.keptBefore(op); });
      }
      if (attention.getBias())
        group.absorbViews(attention->getOpOperand(3), isPartOfBias);
      group.outline(FusionKind::attention);
    }
    if (failed(sortFunction(getOperation())))
      signalPassFailure();
  }
};

} // namespace
} // namespace smelt::passes
