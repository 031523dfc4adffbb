// Scatters: of elements, of slices, and of rows into a cache.
#include "tests/generate/operands.h"
#include "tests/generate/rules.h"

#include <algorithm>

namespace smelt::generate {

namespace {

using Drawn = std::optional<Value>;

constexpr int64_t kMostUpdates = 9; ///< of one element

struct Combination {
  const char *name; ///< null: the last update stays
  Value data;
  Bounds updates, result;
};

/// Sums and products only where rounding after each update does not matter.
Combination drawCombination(Drawing &draw, const Value &operand) {
  std::vector<const char *> names{nullptr};
  bool isExact = operand.type == Wire::FLOAT || operand.type == Wire::DOUBLE ||
                 operand.type == Wire::INT32 || operand.type == Wire::INT64;
  if (draw.opset() >= 16 && isExact)
    names.insert(names.end(), {"add", "mul"});
  if (draw.opset() >= 18 && operand.type != Wire::BOOL)
    names.insert(names.end(), {"max", "min"});
  const char *name = draw.pick(names);
  Bounds usual = Drawing::usualBounds(operand.type);
  Bounds either{std::min(usual.low, operand.bounds.low), std::max(usual.high, operand.bounds.high)};
  if (!name || std::string_view(name) == "max" || std::string_view(name) == "min")
    return {name, operand, usual, either};
  Value data = draw.tamed(operand, 1000);
  if (std::string_view(name) == "mul")
    return {name, data, {-1, 1}, {-data.bounds.magnitude(), data.bounds.magnitude()}};
  double added = usual.magnitude() * kMostUpdates * kMostUpdates;
  return {name, data, usual, {data.bounds.low - added, data.bounds.high + added}};
}

Attributes withReduction(const Combination &combination) {
  Attributes attributes;
  if (combination.name)
    attributes.add("reduction", combination.name);
  return attributes;
}

Drawn drawScatterElements(Drawing &draw, const Value &operand, const char *op) {
  bool isTaken = operand.type != Wire::BFLOAT16 || draw.opset() >= 13;
  if (!isTaken || operand.shape.empty() || hasDerived(operand.shape))
    return std::nullopt;
  size_t axis = drawAxis(draw, operand.shape);
  double extent = static_cast<double>(operand.shape[axis].smallest());
  if (extent < 1 || largestCount(operand.shape) > 1 << 16)
    return std::nullopt;
  Combination combination = std::string_view(op) == "Scatter"
                                ? Combination{nullptr, operand, operand.bounds, operand.bounds}
                                : drawCombination(draw, operand);
  Shape shape = operand.shape;
  shape[axis] = draw.drawConstant(kMostUpdates);
  Value indices = generate::operand(draw, draw.chance(0.7) ? Wire::INT64 : Wire::INT32, shape,
                                    {-extent, extent - 1});
  Value updates = generate::operand(draw, operand.type, shape, combination.updates);
  return draw.node(op, {combination.data, indices, updates},
                   withReduction(combination).add("axis", spelledAxis(draw, axis, shape.size())),
                   operand.type, operand.shape, combination.result);
}

Drawn drawScatterNd(Drawing &draw, const Value &operand) {
  size_t rank = operand.shape.size();
  if (rank < 1 || hasDerived(operand.shape) || largestCount(operand.shape) > 1 << 16)
    return std::nullopt;
  auto depth = static_cast<size_t>(draw.between(1, static_cast<int64_t>(rank)));
  int64_t least = operand.shape[0].smallest();
  for (size_t axis = 0; axis < depth; ++axis)
    least = std::min(least, operand.shape[axis].smallest());
  if (least < 1)
    return std::nullopt;
  Combination combination = drawCombination(draw, operand);
  Shape indexShape = draw.drawShape(static_cast<size_t>(draw.between(1, 2)), kMostUpdates);
  Shape updateShape = indexShape;
  indexShape.push_back(Size::of(static_cast<int64_t>(depth)));
  updateShape.insert(updateShape.end(), operand.shape.begin() + static_cast<std::ptrdiff_t>(depth),
                     operand.shape.end());
  auto extent = static_cast<double>(least);
  Value indices = draw.leaf(Wire::INT64, indexShape, {-extent, extent - 1});
  Value updates = generate::operand(draw, operand.type, updateShape, combination.updates);
  return draw.node("ScatterND", {combination.data, indices, updates}, withReduction(combination),
                   operand.type, operand.shape, combination.result);
}

/// At positions that may run over the end where the cache is circular.
Drawn drawTensorScatter(Drawing &draw, const Value &operand) {
  size_t rank = operand.shape.size();
  if (rank < 2 || hasDerived(operand.shape) || largestCount(operand.shape) > 1 << 16)
    return std::nullopt;
  auto axis = static_cast<size_t>(draw.between(1, static_cast<int64_t>(rank) - 1));
  const Size &length = operand.shape[axis];
  if (!length.isConstant() || length.values[0] < 1)
    return std::nullopt;
  bool isCircular = draw.chance(0.5);
  Shape shape = operand.shape;
  shape[axis] = Size::of(draw.between(1, std::min<int64_t>(length.values[0], kMostUpdates)));
  auto last = static_cast<double>(length.values[0] - (isCircular ? 1 : shape[axis].values[0]));
  Attributes attributes;
  attributes.add("axis", spelledAxis(draw, axis, rank));
  if (isCircular)
    attributes.add("mode", "circular");
  std::vector<Value> inputs{operand, generate::operand(draw, operand.type, shape, operand.bounds)};
  if (draw.chance(0.7))
    inputs.push_back(draw.leaf(Wire::INT64, {operand.shape[0]}, {0, last}));
  return draw.node("TensorScatter", inputs, attributes, operand.type, operand.shape,
                   operand.bounds);
}

} // namespace

std::vector<Rule> scatterRules() {
  return {{"Scatter", 9,
           [](Drawing &draw, const Value &operand) {
             return drawScatterElements(draw, operand, "Scatter");
           },
           10},
          {"ScatterElements", 11,
           [](Drawing &draw, const Value &operand) {
             return drawScatterElements(draw, operand, "ScatterElements");
           }},
          {"ScatterND", 11, drawScatterNd},
          {"TensorScatter", 24, drawTensorScatter}};
}

} // namespace smelt::generate
