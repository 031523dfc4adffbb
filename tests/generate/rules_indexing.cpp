// Gathers, and selections by position.
#include "tests/generate/operands.h"
#include "tests/generate/rules.h"

#include <algorithm>

namespace smelt::generate {

namespace {

using Drawn = std::optional<Value>;

ElementType indexType(Drawing &draw) {
  return draw.chance(0.7) ? ElementType(Wire::INT64) : ElementType(Wire::INT32);
}

/// Valid indices of an axis, from either end.
Bounds indexBounds(const Size &size) {
  double extent = static_cast<double>(size.smallest());
  return {-extent, extent - 1};
}

/// Rows of the operand; or, for integers, rows of a table that the operand numbers.
Drawn drawGather(Drawing &draw, const Value &operand) {
  bool isIndex = operand.type == Wire::INT64 || operand.type == Wire::INT32;
  if (isIndex && draw.chance(0.4)) {
    Value index = draw.tamed(operand, 9);
    int64_t rows = static_cast<int64_t>(index.bounds.magnitude()) + 1;
    ElementType type = draw.chance(0.5) ? ElementType(Wire::FLOAT) : ElementType(Wire::FLOAT16);
    Size width = draw.drawConstant(129);
    Value table = draw.leaf(type, {Size::of(rows), width});
    Shape shape = index.shape;
    shape.push_back(width);
    if (largestCount(shape) > 1 << 18)
      return std::nullopt;
    return draw.node("Gather", {table, index}, {}, type, shape, table.bounds);
  }
  if (operand.shape.empty())
    return std::nullopt;
  size_t axis = drawAxis(draw, operand.shape);
  if (operand.shape[axis].smallest() < 1)
    return std::nullopt;
  Shape picked = draw.drawShape(static_cast<size_t>(draw.between(0, 2)), 33);
  Value indices = draw.leaf(indexType(draw), picked, indexBounds(operand.shape[axis]));
  Shape shape(operand.shape.begin(), operand.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.end(), picked.begin(), picked.end());
  shape.insert(shape.end(), operand.shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1,
               operand.shape.end());
  if (largestCount(shape) > 1 << 18)
    return std::nullopt;
  return draw.node("Gather", {operand, indices},
                   Attributes().add("axis", spelledAxis(draw, axis, operand.shape.size())),
                   operand.type, shape, operand.bounds);
}

Drawn drawGatherElements(Drawing &draw, const Value &operand) {
  if (operand.shape.empty() || hasDerived(operand.shape))
    return std::nullopt;
  size_t axis = drawAxis(draw, operand.shape);
  if (operand.shape[axis].smallest() < 1)
    return std::nullopt;
  Shape picked = operand.shape;
  for (size_t other = 0; other < picked.size(); ++other)
    if (other == axis)
      picked[other] = draw.drawConstant(9);
    else if (picked[other].isConstant() && picked[other].values[0] > 1 && draw.chance(0.3))
      picked[other] = Size::of(picked[other].values[0] - 1);
  Value indices = operand;
  indices = generate::operand(draw, indexType(draw), picked, indexBounds(operand.shape[axis]));
  return draw.node("GatherElements", {operand, indices},
                   Attributes().add("axis", spelledAxis(draw, axis, operand.shape.size())),
                   operand.type, picked, operand.bounds);
}

Drawn drawGatherNd(Drawing &draw, const Value &operand) {
  size_t rank = operand.shape.size();
  if (rank < 1 || draw.opset() < 12)
    return std::nullopt;
  size_t batch = rank >= 2 && draw.chance(0.3) && !operand.shape[0].isDerived() ? 1 : 0;
  size_t depth = static_cast<size_t>(draw.between(1, static_cast<int64_t>(rank - batch)));
  double least = 1e9;
  for (size_t axis = batch; axis < batch + depth; ++axis)
    least = std::min(least, static_cast<double>(operand.shape[axis].smallest()));
  if (least < 1)
    return std::nullopt;
  Shape shape(operand.shape.begin(), operand.shape.begin() + static_cast<std::ptrdiff_t>(batch));
  shape.push_back(draw.drawConstant(17));
  Shape index = shape;
  index.push_back(Size::of(static_cast<int64_t>(depth)));
  shape.insert(shape.end(), operand.shape.begin() + static_cast<std::ptrdiff_t>(batch + depth),
               operand.shape.end());
  if (largestCount(shape) > 1 << 18)
    return std::nullopt;
  Value indices = draw.leaf(Wire::INT64, index, {-least, least - 1});
  return draw.node("GatherND", {operand, indices},
                   Attributes().add("batch_dims", static_cast<int64_t>(batch)), operand.type, shape,
                   operand.bounds);
}

Drawn drawTrilu(Drawing &draw, const Value &operand) {
  if (operand.shape.size() < 2)
    return std::nullopt;
  std::vector<Value> inputs{operand};
  if (draw.chance(0.5))
    inputs.push_back(draw.integerScalar(draw.between(-2, 2)));
  return draw.node("Trilu", inputs, Attributes().add("upper", draw.between(0, 1)), operand.type,
                   operand.shape,
                   {std::min(operand.bounds.low, 0.0), std::max(operand.bounds.high, 0.0)});
}

} // namespace

std::vector<Rule> indexingRules() {
  return {{"Gather", 1, drawGather},
          {"GatherElements", 11, drawGatherElements},
          {"GatherND", 12, drawGatherNd},
          {"Trilu", 14, drawTrilu}};
}

} // namespace smelt::generate
