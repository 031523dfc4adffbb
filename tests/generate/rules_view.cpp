// Views, joins, and nodes that make tensors out of sizes.
#include "tests/generate/operands.h"
#include "tests/generate/rules.h"
#include "tests/generate/tensor_bytes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace smelt::generate {

namespace {

using Drawn = std::optional<Value>;

int64_t rankOf(const Value &value) { return static_cast<int64_t>(value.shape.size()); }

Drawn drawIdentity(Drawing &draw, const Value &operand) {
  return draw.node("Identity", {operand}, {}, operand.type, operand.shape, operand.bounds);
}

Drawn drawDropout(Drawing &draw, const Value &operand) {
  if (!isFloat(operand.type))
    return std::nullopt;
  if (draw.chance(0.6))
    return draw.node("Dropout", {operand}, {}, operand.type, operand.shape, operand.bounds);
  return draw.nodes("Dropout", {operand}, {},
                    {operand, Value{"", Wire::BOOL, operand.shape, {0, 1}, false}})[0];
}

Drawn drawTranspose(Drawing &draw, const Value &operand) {
  size_t rank = operand.shape.size();
  if (rank < 2)
    return std::nullopt;
  std::vector<int64_t> permutation(rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  if (draw.chance(0.5))
    std::swap(permutation[rank - 1], permutation[rank - 2]);
  else
    for (size_t axis = rank; axis > 1; --axis)
      std::swap(permutation[axis - 1],
                permutation[static_cast<size_t>(draw.between(0, static_cast<int64_t>(axis) - 1))]);
  Attributes attributes;
  if (rank == 2 && draw.chance(0.3))
    permutation = {1, 0}; // what an absent attribute means
  else
    attributes.add("perm", permutation);
  Shape shape;
  for (int64_t axis : permutation)
    shape.push_back(operand.shape[static_cast<size_t>(axis)]);
  return draw.node("Transpose", {operand}, attributes, operand.type, shape, operand.bounds);
}

/// A target made of numbers, 0 (keep) and one -1, by merging neighbours and splitting what divides.
Drawn drawReshape(Drawing &draw, const Value &operand) {
  const Shape &shape = operand.shape;
  std::vector<int64_t> target;
  Shape result;
  bool hasOpen = false;
  for (size_t axis = 0; axis < shape.size();) {
    size_t last = axis + 1;
    while (last < shape.size() && draw.chance(0.35))
      ++last;
    Shape group(shape.begin() + static_cast<std::ptrdiff_t>(axis),
                shape.begin() + static_cast<std::ptrdiff_t>(last));
    Size merged = draw.product(group);
    int64_t extent = merged.values[0];
    if (merged.isConstant() && extent > 1 && extent % 2 == 0 && draw.chance(0.4)) {
      result.push_back(Size::of(extent / 2));
      result.push_back(Size::of(2));
      target.insert(target.end(), {extent / 2, 2});
    } else if (merged.isConstant()) {
      result.push_back(merged);
      target.push_back(extent);
    } else if (!hasOpen) {
      hasOpen = true;
      result.push_back(merged);
      target.push_back(-1);
    } else if (last == axis + 1 && target.size() == axis) {
      result.push_back(merged);
      target.push_back(0);
    } else {
      return std::nullopt;
    }
    axis = last;
  }
  if (!hasOpen && !target.empty() && draw.chance(0.3))
    target[static_cast<size_t>(draw.between(0, static_cast<int64_t>(target.size()) - 1))] = -1;
  if (std::count(target.begin(), target.end(), 0))
    for (const Size &size : result)
      if (size.is(0))
        return std::nullopt;
  return draw.node("Reshape", {operand, draw.integers(target)}, {}, operand.type, result,
                   operand.bounds);
}

Drawn drawFlatten(Drawing &draw, const Value &operand) {
  int64_t axis = draw.between(0, rankOf(operand));
  Shape head(operand.shape.begin(), operand.shape.begin() + axis),
      tail(operand.shape.begin() + axis, operand.shape.end());
  return draw.node("Flatten", {operand}, Attributes().add("axis", axis), operand.type,
                   {draw.product(head), draw.product(tail)}, operand.bounds);
}

/// Attribute or input, as the opset has it.
Value withAxes(Drawing &draw, const char *op, const Value &operand,
               const std::vector<int64_t> &axes, const Shape &shape) {
  if (draw.opset() >= 13)
    return draw.node(op, {operand, draw.integers(axes)}, {}, operand.type, shape, operand.bounds);
  return draw.node(op, {operand}, Attributes().add("axes", axes), operand.type, shape,
                   operand.bounds);
}

Drawn drawSqueeze(Drawing &draw, const Value &operand) {
  std::vector<int64_t> axes;
  Shape shape;
  for (size_t axis = 0; axis < operand.shape.size(); ++axis) {
    if (operand.shape[axis].is(1) && (axes.empty() || draw.chance(0.5)))
      axes.push_back(static_cast<int64_t>(axis));
    else
      shape.push_back(operand.shape[axis]);
  }
  if (axes.empty())
    return std::nullopt;
  return withAxes(draw, "Squeeze", operand, axes, shape);
}

Drawn drawUnsqueeze(Drawing &draw, const Value &operand) {
  if (rankOf(operand) > 4)
    return std::nullopt;
  int64_t axis = draw.between(0, rankOf(operand));
  Shape shape = operand.shape;
  shape.insert(shape.begin() + axis, Size::of(1));
  return withAxes(draw, "Unsqueeze", operand, {axis}, shape);
}

/// Axes of 1 grow, new ones come in front.
Drawn drawExpand(Drawing &draw, const Value &operand) {
  Shape shape = operand.shape;
  std::vector<int64_t> target;
  int64_t room = std::max<int64_t>((1 << 16) / std::max<int64_t>(largestCount(shape), 1), 1);
  for (Size &size : shape) {
    if (size.is(1) && draw.chance(0.6)) {
      size = draw.drawConstant(std::min<int64_t>(room, 33));
      room = std::max<int64_t>(room / std::max<int64_t>(size.values[0], 1), 1);
    }
    target.push_back(size.isConstant() ? size.values[0] : 1);
  }
  while (shape.size() < 4 && draw.chance(0.3)) {
    Size front = draw.drawConstant(std::min<int64_t>(room, 5));
    room = std::max<int64_t>(room / std::max<int64_t>(front.values[0], 1), 1);
    shape.insert(shape.begin(), front);
    target.insert(target.begin(), front.values[0]);
  }
  return draw.node("Expand", {operand, draw.integers(target)}, {}, operand.type, shape,
                   operand.bounds);
}

Drawn drawTile(Drawing &draw, const Value &operand) {
  Shape shape = operand.shape;
  std::vector<int64_t> repeats;
  int64_t room = std::max<int64_t>((1 << 16) / std::max<int64_t>(largestCount(shape), 1), 1);
  for (Size &size : shape) {
    int64_t count = draw.chance(0.5) ? 1 : draw.between(1, std::min<int64_t>(room, 4));
    room = std::max<int64_t>(room / count, 1);
    repeats.push_back(count);
    if (count == 1)
      continue;
    std::array<int64_t, kAssignments> values = size.values;
    for (int64_t &value : values)
      value *= count;
    size = size.isConstant() ? Size::of(values[0]) : draw.derived(values);
  }
  return draw.node("Tile", {operand, draw.integers(repeats)}, {}, operand.type, shape,
                   operand.bounds);
}

Drawn drawConcat(Drawing &draw, const Value &operand) {
  if (operand.shape.empty())
    return std::nullopt;
  size_t axis = drawAxis(draw, operand.shape);
  int64_t count = draw.chance(0.1) ? draw.between(4, 20) : draw.between(1, 3);
  bool repeats = draw.chance(0.15);
  std::vector<Value> inputs{operand};
  Shape total{operand.shape[axis]};
  Shape next = operand.shape;
  next[axis] = Size::of(1);
  if (hasDerived(next))
    repeats = true;
  for (int64_t i = 0; i < count; ++i) {
    next[axis] = draw.drawConstant(17);
    inputs.push_back(repeats                      ? operand
                     : operand.type == Wire::BOOL ? draw.leaf(Wire::BOOL, next)
                                                  : generate::operand(draw, operand.type, next));
    total.push_back(inputs.back().shape[axis]);
  }
  std::rotate(inputs.begin(), inputs.begin() + draw.between(0, count), inputs.end());
  Shape shape = operand.shape;
  std::array<int64_t, kAssignments> values = {};
  for (const Size &part : total)
    for (size_t at = 0; at < kAssignments; ++at)
      values[at] += part.values[at];
  shape[axis] = isStatic(total) ? Size::of(values[0]) : draw.derived(values);
  Bounds usual = Drawing::usualBounds(operand.type);
  return draw.node(
      "Concat", inputs, Attributes().add("axis", spelledAxis(draw, axis, operand.shape.size())),
      operand.type, shape,
      {std::min(operand.bounds.low, usual.low), std::max(operand.bounds.high, usual.high)});
}

/// Starts, ends and steps within one or two axes; on a symbolic axis it leaves out a few at either end.
Drawn drawSlice(Drawing &draw, const Value &operand) {
  std::vector<int64_t> axes, starts, ends, steps;
  Shape shape = operand.shape;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    int64_t extent = shape[axis].smallest();
    if (extent < 1 || !draw.chance(axes.empty() && axis + 1 == shape.size() ? 1 : 0.4))
      continue;
    int64_t start = draw.between(0, std::min<int64_t>(extent - 1, 3)), step = 1;
    axes.push_back(static_cast<int64_t>(axis));
    if (!shape[axis].isConstant()) {
      std::array<int64_t, kAssignments> values = shape[axis].values;
      for (int64_t &value : values)
        value -= start;
      starts.push_back(start), ends.push_back(int64_t{1} << 40), steps.push_back(1);
      shape[axis] = start ? draw.derived(values) : shape[axis];
      continue;
    }
    static const std::vector<int64_t> kSteps = {1, 1, 2, 3, -1, -2};
    step = draw.pick(kSteps);
    int64_t end = draw.between(start + 1, extent), length = (end - start - 1) / std::abs(step) + 1;
    bool fromEnd = draw.chance(0.3);
    if (step > 0) {
      starts.push_back(fromEnd ? start - extent : start), ends.push_back(end);
    } else {
      starts.push_back(end - 1), ends.push_back(start == 0 ? -(int64_t{1} << 40) : start - 1);
    }
    steps.push_back(step);
    shape[axis] = Size::of(length);
  }
  if (axes.empty())
    return std::nullopt;
  Value from = draw.integers(starts), to = draw.integers(ends), at = draw.integers(axes);
  return draw.node("Slice", {operand, from, to, at, draw.integers(steps)}, {}, operand.type, shape,
                   operand.bounds);
}

Drawn drawSplit(Drawing &draw, const Value &operand) {
  if (operand.shape.empty())
    return std::nullopt;
  size_t axis = drawAxis(draw, operand.shape);
  if (!operand.shape[axis].isConstant() || operand.shape[axis].values[0] < 2)
    return std::nullopt;
  int64_t extent = operand.shape[axis].values[0], first = draw.between(1, extent - 1);
  bool isEven = extent % 2 == 0 && draw.chance(0.5);
  std::vector<int64_t> parts = isEven ? std::vector<int64_t>{extent / 2, extent / 2}
                                      : std::vector<int64_t>{first, extent - first};
  Attributes attributes;
  attributes.add("axis", spelledAxis(draw, axis, operand.shape.size()));
  std::vector<Value> inputs{operand};
  if (isEven && draw.opset() >= 18)
    attributes.add("num_outputs", 2);
  else if (!isEven && draw.opset() >= 13)
    inputs.push_back(draw.integers(parts));
  else if (!isEven)
    attributes.add("split", parts);
  std::vector<Value> results(2, operand);
  for (size_t i = 0; i < 2; ++i)
    results[i].shape[axis] = Size::of(parts[i]);
  return draw.nodes("Split", inputs, attributes, results)[static_cast<size_t>(draw.between(0, 1))];
}

/// Its sizes, as numbers that later nodes read.
Drawn drawShape(Drawing &draw, const Value &operand) {
  if (operand.shape.empty())
    return std::nullopt;
  double largest = 1;
  for (const Size &size : operand.shape)
    largest = std::max(largest, static_cast<double>(size.largest()));
  return draw.node("Shape", {operand}, {}, Wire::INT64, {Size::of(rankOf(operand))}, {0, largest});
}

Drawn drawSize(Drawing &draw, const Value &operand) {
  return draw.node("Size", {operand}, {}, Wire::INT64, {},
                   {0, static_cast<double>(largestCount(operand.shape))});
}

/// What is filled has the operand's sizes, and is added to it.
Drawn drawConstantOfShape(Drawing &draw, const Value &operand) {
  if (operand.type == Wire::BOOL || operand.shape.empty() ||
      (!isFloat(operand.type) && draw.opset() < 14))
    return std::nullopt;
  Attributes attributes;
  onnx_wire::Attribute fill;
  fill.set_name("value");
  fill.set_type(onnx_wire::Attribute::TENSOR);
  fill.mutable_t()->add_dims(1);
  fill.mutable_t()->set_data_type(operand.type);
  fill.mutable_t()->set_raw_data(std::string(elementBytes(operand.type), '\0'));
  attributes.list.push_back(fill);
  Value sizes = *drawShape(draw, operand);
  Value filled =
      draw.node("ConstantOfShape", {sizes}, attributes, operand.type, operand.shape, {0, 0});
  return draw.node("Add", {operand, filled}, {}, operand.type, operand.shape, operand.bounds);
}

/// Positions along the last axis, in the operand's type.
Drawn drawRange(Drawing &draw, const Value &operand) {
  static const std::vector<ElementType> kTypes = {Wire::FLOAT, Wire::DOUBLE, Wire::INT64,
                                                  Wire::INT32};
  bool taken = std::find(kTypes.begin(), kTypes.end(), operand.type) != kTypes.end();
  if (!taken || operand.shape.empty() || !operand.shape.back().isConstant())
    return std::nullopt;
  int64_t count = operand.shape.back().values[0], start = draw.between(-3, 3),
          step = draw.chance(0.6) ? 1 : draw.between(1, 3);
  if (draw.chance(0.2))
    step = -step;
  double last = static_cast<double>(start + count * step);
  Value from = draw.scalar(operand.type, static_cast<double>(start)),
        to = draw.scalar(operand.type, last);
  Value range = draw.node("Range", {from, to, draw.scalar(operand.type, static_cast<double>(step))},
                          {}, operand.type, {operand.shape.back()},
                          {std::min<double>(static_cast<double>(start), last),
                           std::max<double>(static_cast<double>(start), last)});
  return draw.node(
      "Add", {draw.tamed(operand, 1e4), range}, {}, operand.type, operand.shape,
      {operand.bounds.low + range.bounds.low, operand.bounds.high + range.bounds.high});
}

/// A constant as a node, added to the operand.
Drawn drawConstantNode(Drawing &draw, const Value &operand) {
  if (operand.type != Wire::FLOAT && operand.type != Wire::INT64)
    return std::nullopt;
  Attributes attributes;
  bool isReal = operand.type == Wire::FLOAT;
  if (isReal)
    attributes.add("value_float", 0.75f);
  else
    attributes.add("value_int", 3);
  Value constant = draw.node("Constant", {}, attributes, operand.type, {}, {0.75, 3});
  return draw.node("Mul", {draw.tamed(operand, 1e5), constant}, {}, operand.type, operand.shape,
                   {std::min(3 * operand.bounds.low, operand.bounds.low),
                    std::max(3 * operand.bounds.high, operand.bounds.high)});
}

} // namespace

int64_t spelledAxis(Drawing &draw, size_t axis, size_t rank) {
  int64_t forward = static_cast<int64_t>(axis);
  return draw.chance(0.4) ? forward - static_cast<int64_t>(rank) : forward;
}

size_t drawAxis(Drawing &draw, const Shape &shape) {
  if (draw.chance(0.5))
    return shape.size() - 1;
  return static_cast<size_t>(draw.between(0, static_cast<int64_t>(shape.size()) - 1));
}

std::vector<Rule> viewRules() {
  return {{"Identity", 1, drawIdentity},
          {"Dropout", 12, drawDropout},
          {"Transpose", 1, drawTranspose},
          {"Reshape", 5, drawReshape},
          {"Flatten", 9, drawFlatten},
          {"Squeeze", 1, drawSqueeze},
          {"Unsqueeze", 1, drawUnsqueeze},
          {"Expand", 8, drawExpand},
          {"Tile", 6, drawTile},
          {"Concat", 4, drawConcat},
          {"Slice", 10, drawSlice},
          {"Split", 2, drawSplit},
          {"Shape", 1, drawShape},
          {"Size", 1, drawSize},
          {"ConstantOfShape", 9, drawConstantOfShape},
          {"Range", 11, drawRange},
          {"Constant", 12, drawConstantNode}};
}

} // namespace smelt::generate
