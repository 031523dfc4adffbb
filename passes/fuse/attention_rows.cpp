#include "passes/fuse/attention_rows.h"

#include "passes/coordinates.h"

using namespace mlir;

namespace smelt::passes {

AttentionRows::AttentionRows(Value tensor, RowDistance distance)
    : shape(tensorType(tensor).getShape()), bounds(coordinateBounds(shape)), distance(distance) {
  positions[tensor] = coordinatesOf(shape, tensor.getContext());
}

bool AttentionRows::keptBefore(Operation *view) {
  if (!view->hasTrait<View>()) // a literal: the templates read tensors
    return false;
  Index before = operandIndex(view, positions.at(view->getResult(0)), bounds);
  return keep(view->getOperand(0), before);
}

bool AttentionRows::keptAfter(Operation *view) {
  std::optional<Index> after = resultIndex(view, positions.at(view->getOperand(0)), bounds);
  return after && keep(view->getResult(0), *after);
}

bool AttentionRows::keptWithin(ArrayRef<Dim> whole, Value part, unsigned axis, Dim start) const {
  Index index = positions.at(part);
  index[axis] = index[axis] + start;
  return areRegular(index, whole);
}

bool AttentionRows::keep(Value tensor, const Index &index) {
  positions[tensor] = index;
  return areRegular(index, tensorType(tensor).getShape());
}

bool AttentionRows::areRegular(ArrayRef<Dim> index, ArrayRef<Dim> tensor) const {
  MLIRContext *context = shape.front().getContext();
  Index own = coordinatesOf(shape, context);
  return hasRegularRows(linearize(index, tensor, context), own[2], own[3], distance);
}

} // namespace smelt::passes
