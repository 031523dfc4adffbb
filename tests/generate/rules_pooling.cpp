// Pools: over windows of the spatial axes, and over all of them.
#include "tests/generate/rules.h"
#include "tests/generate/windows.h"

#include <algorithm>
#include <cmath>

namespace smelt::generate {

namespace {

using Drawn = std::optional<Value>;

bool hasSpatialAxes(Drawing &draw, const Value &operand) {
  size_t rank = operand.shape.size();
  bool isEmpty = std::any_of(operand.shape.begin(), operand.shape.end(),
                             [](const Size &size) { return size.smallest() < 1; });
  return rank >= 3 && rank <= 5 && !isEmpty &&
         (operand.type != Wire::BFLOAT16 || draw.opset() >= 22);
}

struct DrawnPool {
  Attributes attributes;
  Shape shape;
  double taps = 1;
};

/// The attributes of a pool of which `since` is the first opset with dilations and ceil_mode.
std::optional<DrawnPool> drawPool(Drawing &draw, const Value &operand, int64_t since) {
  if (!hasSpatialAxes(draw, operand))
    return std::nullopt;
  WindowOptions options;
  options.mayDilate = draw.opset() >= since;
  options.padsLessThanKernel = true;
  options.countsIncomplete = draw.opset() >= since && draw.chance(0.3);
  Shape sizes(operand.shape.begin() + 2, operand.shape.end());
  Windows windows = drawWindows(draw, sizes, options);
  DrawnPool pool;
  pool.shape = {operand.shape[0], operand.shape[1]};
  pool.shape.insert(pool.shape.end(), windows.counts.begin(), windows.counts.end());
  if (largestCount(pool.shape) > 1 << 16)
    return std::nullopt;
  for (int64_t count : windows.kernel)
    pool.taps *= static_cast<double>(count);
  pool.attributes.add("kernel_shape", windows.kernel)
      .add("strides", windows.strides)
      .add("pads", windows.pads);
  if (options.mayDilate)
    pool.attributes.add("dilations", windows.dilations);
  if (options.countsIncomplete)
    pool.attributes.add("ceil_mode", 1);
  return pool;
}

Drawn drawMaxPool(Drawing &draw, const Value &operand) {
  bool isByteType = operand.type == Wire::INT8 || operand.type == Wire::UINT8;
  if (!isFloat(operand.type) && !(isByteType && draw.opset() >= 12))
    return std::nullopt;
  std::optional<DrawnPool> pool = drawPool(draw, operand, 10);
  if (!pool)
    return std::nullopt;
  if (isFloat(operand.type) || draw.chance(0.5)) // equal elements of floats are rounded differently
    return draw.node("MaxPool", {operand}, pool->attributes, operand.type, pool->shape,
                     operand.bounds);
  Value values = operand, places = operand;
  values.shape = places.shape = pool->shape;
  places.type = Wire::INT64;
  places.bounds = {0, static_cast<double>(largestCount(operand.shape))};
  if (draw.chance(0.5))
    pool->attributes.add("storage_order", 1);
  return draw.nodes("MaxPool", {operand}, pool->attributes, {values, places})[1];
}

Drawn drawAveragePool(Drawing &draw, const Value &operand) {
  if (!isFloat(operand.type))
    return std::nullopt;
  std::optional<DrawnPool> pool = drawPool(draw, operand, 19);
  if (!pool)
    return std::nullopt;
  if (draw.chance(0.5))
    pool->attributes.add("count_include_pad", 1);
  Bounds bounds{std::min(operand.bounds.low, 0.0), std::max(operand.bounds.high, 0.0)};
  return draw.node("AveragePool", {operand}, pool->attributes, operand.type, pool->shape, bounds);
}

Drawn drawLpPool(Drawing &draw, const Value &operand) {
  if (!isFloat(operand.type))
    return std::nullopt;
  std::optional<DrawnPool> pool = drawPool(draw, operand, 18);
  if (!pool)
    return std::nullopt;
  Value input = draw.tamed(operand, 10);
  pool->attributes.add("p", draw.between(1, 3));
  return draw.node("LpPool", {input}, pool->attributes, operand.type, pool->shape,
                   {0, input.bounds.magnitude() * pool->taps});
}

Drawn drawGlobalPool(Drawing &draw, const Value &operand, const char *op) {
  if (!isFloat(operand.type) || !hasSpatialAxes(draw, operand))
    return std::nullopt;
  Shape shape = operand.shape;
  double count = 1;
  for (size_t axis = 2; axis < shape.size(); ++axis) {
    count *= static_cast<double>(shape[axis].largest());
    shape[axis] = Size::of(1);
  }
  if (std::string_view(op) != "GlobalLpPool")
    return draw.node(op, {operand}, {}, operand.type, shape, operand.bounds);
  Value input = draw.tamed(operand, 4);
  return draw.node(op, {input}, Attributes().add("p", draw.between(1, 2)), operand.type, shape,
                   {0, input.bounds.magnitude() * count});
}

/// Behind the pool that finds the places.
Drawn drawMaxUnpool(Drawing &draw, const Value &operand) {
  if (!isFloat(operand.type) || operand.type == Wire::BFLOAT16 || operand.shape.size() != 4 ||
      !isStatic(operand.shape) || !hasSpatialAxes(draw, operand))
    return std::nullopt;
  Shape shape = operand.shape;
  for (size_t axis : {2, 3}) {
    if (shape[axis].values[0] % 2 != 0)
      return std::nullopt;
    shape[axis] = Size::of(shape[axis].values[0] / 2);
  }
  Attributes attributes;
  const std::vector<int64_t> two{2, 2};
  attributes.add("kernel_shape", two).add("strides", two);
  Value values = operand, places = operand;
  values.shape = places.shape = shape;
  places.type = Wire::INT64;
  std::vector<Value> pooled = draw.nodes("MaxPool", {operand}, attributes, {values, places});
  return draw.node("MaxUnpool", {pooled[0], pooled[1]}, attributes, operand.type, operand.shape,
                   {std::min(operand.bounds.low, 0.0), std::max(operand.bounds.high, 0.0)});
}

template <typename Draw> DrawNode named(Draw draw, const char *op) {
  return [draw, op](Drawing &drawing, const Value &operand) { return draw(drawing, operand, op); };
}

} // namespace

std::vector<Rule> poolingRules() {
  return {{"AveragePool", 7, drawAveragePool},
          {"GlobalAveragePool", 1, named(drawGlobalPool, "GlobalAveragePool")},
          {"GlobalLpPool", 2, named(drawGlobalPool, "GlobalLpPool")},
          {"GlobalMaxPool", 1, named(drawGlobalPool, "GlobalMaxPool")},
          {"LpPool", 2, drawLpPool},
          {"MaxPool", 8, drawMaxPool},
          {"MaxUnpool", 11, drawMaxUnpool}};
}

} // namespace smelt::generate
