// Nodes that pad, move blocks of elements, or pick rows of a unit matrix.
#include "tests/generate/operands.h"
#include "tests/generate/rules.h"

#include <algorithm>

namespace smelt::generate {

namespace {

using Drawn = std::optional<Value>;
constexpr int64_t kMostElements = 1 << 18;

Bounds with(Bounds bounds, double value) {
  return {std::min(bounds.low, value), std::max(bounds.high, value)};
}

/// Constants, and negative ones at times; or elements of the operand itself.
Drawn drawPad(Drawing &draw, const Value &operand) {
  if (operand.shape.empty() || (operand.type == Wire::BOOL && draw.opset() < 13))
    return std::nullopt;
  static const std::vector<const char *> kModes = {"constant", "constant", "reflect", "edge",
                                                   "wrap"};
  std::string mode = draw.pick(kModes);
  if (mode == "wrap" && draw.opset() < 19)
    mode = "edge";
  std::vector<int64_t> before, after;
  Shape shape;
  for (const Size &size : operand.shape) {
    bool isPadded = draw.chance(0.5) && (mode == "constant" || size.smallest() > 0);
    int64_t least = mode == "constant" && size.smallest() > 3 ? -1 : 0;
    before.push_back(isPadded ? draw.between(least, 5) : 0);
    after.push_back(isPadded ? draw.between(least, 5) : 0);
    shape.push_back(
        draw.changed(size, [&](int64_t value) { return value + before.back() + after.back(); }));
  }
  if (largestCount(shape) > kMostElements)
    return std::nullopt;
  before.insert(before.end(), after.begin(), after.end());
  std::vector<Value> inputs{operand, draw.integers(before)};
  double fill = operand.type == Wire::BOOL ? 1 : 3;
  bool hasFill = mode == "constant" && draw.chance(0.6);
  if (hasFill)
    inputs.push_back(draw.scalar(operand.type, fill));
  return draw.node("Pad", inputs, Attributes().add("mode", mode.c_str()), operand.type, shape,
                   with(with(operand.bounds, 0), hasFill ? fill : 0));
}

Drawn drawCenterCropPad(Drawing &draw, const Value &operand) {
  if (operand.shape.empty())
    return std::nullopt;
  size_t axis = drawAxis(draw, operand.shape);
  Shape shape = operand.shape;
  shape[axis] = draw.drawConstant(33);
  if (largestCount(shape) > kMostElements)
    return std::nullopt;
  return draw.node(
      "CenterCropPad", {operand, draw.integers({shape[axis].values[0]})},
      Attributes().add("axes", std::vector<int64_t>{spelledAxis(draw, axis, operand.shape.size())}),
      operand.type, shape, with(operand.bounds, 0));
}

/// Blocks of two by two, where the sizes allow them.
Drawn drawBlocks(Drawing &draw, const Value &operand, bool toDepth) {
  if (operand.shape.size() != 4)
    return std::nullopt;
  Shape shape = operand.shape;
  auto divides = [&](size_t axis, int64_t divisor) {
    return shape[axis].isConstant() && shape[axis].values[0] % divisor == 0;
  };
  Attributes attributes;
  attributes.add("blocksize", 2);
  if (toDepth ? !divides(2, 2) || !divides(3, 2) || !shape[1].isConstant() : !divides(1, 4))
    return std::nullopt;
  shape[1] = Size::of(toDepth ? shape[1].values[0] * 4 : shape[1].values[0] / 4);
  for (size_t axis : {2, 3})
    shape[axis] =
        draw.changed(shape[axis], [&](int64_t size) { return toDepth ? size / 2 : size * 2; });
  if (!toDepth && draw.opset() >= 11)
    attributes.add("mode", draw.chance(0.5) ? "DCR" : "CRD");
  return draw.node(toDepth ? "SpaceToDepth" : "DepthToSpace", {operand}, attributes, operand.type,
                   shape, operand.bounds);
}

Drawn drawDepthToSpace(Drawing &draw, const Value &operand) {
  return drawBlocks(draw, operand, false);
}

Drawn drawSpaceToDepth(Drawing &draw, const Value &operand) {
  return drawBlocks(draw, operand, true);
}

Drawn drawReverseSequence(Drawing &draw, const Value &operand) {
  if (operand.shape.size() < 2)
    return std::nullopt;
  int64_t batch = draw.between(0, 1), time = 1 - batch;
  const Size &rows = operand.shape[static_cast<size_t>(batch)],
             &steps = operand.shape[static_cast<size_t>(time)];
  if (rows.isDerived() || steps.smallest() < 1)
    return std::nullopt;
  Value lengths = draw.leaf(Wire::INT64, {rows}, {1, static_cast<double>(steps.smallest())});
  return draw.node("ReverseSequence", {operand, lengths},
                   Attributes().add("batch_axis", batch).add("time_axis", time), operand.type,
                   operand.shape, operand.bounds);
}

/// Added to the operand, whose sizes it has.
Drawn drawEyeLike(Drawing &draw, const Value &operand) {
  bool isTaken =
      operand.shape.size() == 2 && operand.type != Wire::BOOL && operand.type != Wire::BFLOAT16;
  if (!isTaken)
    return std::nullopt;
  Attributes attributes;
  if (draw.chance(0.6))
    attributes.add("k", draw.between(-3, 3));
  Value source = operand, tamed = draw.tamed(operand, 100);
  Value eye = draw.node("EyeLike", {source}, attributes, operand.type, operand.shape, {0, 1});
  return draw.node("Add", {tamed, eye}, {}, operand.type, operand.shape,
                   {tamed.bounds.low, tamed.bounds.high + 1});
}

/// The operand numbers the elements; some are beyond the depth, and find none.
Drawn drawOneHot(Drawing &draw, const Value &operand) {
  if (!isInteger(operand.type) || operand.shape.size() > 4)
    return std::nullopt;
  Value indices = draw.tamed(operand, 9);
  Size depth = draw.drawConstant(17);
  size_t axis = static_cast<size_t>(draw.between(0, static_cast<int64_t>(indices.shape.size())));
  Shape shape = indices.shape;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), depth);
  if (largestCount(shape) > kMostElements)
    return std::nullopt;
  ElementType type = draw.chance(0.6) ? Wire::FLOAT : Wire::INT64;
  Value values = draw.leaf(type, {Size::of(2)});
  return draw.node("OneHot", {indices, draw.integerScalar(depth.values[0]), values},
                   Attributes().add("axis", spelledAxis(draw, axis, shape.size())), type, shape,
                   values.bounds);
}

} // namespace

std::vector<Rule> spatialRules() {
  return {{"Pad", 11, drawPad},
          {"CenterCropPad", 18, drawCenterCropPad},
          {"DepthToSpace", 9, drawDepthToSpace},
          {"SpaceToDepth", 9, drawSpaceToDepth},
          {"ReverseSequence", 10, drawReverseSequence},
          {"EyeLike", 9, drawEyeLike},
          {"OneHot", 11, drawOneHot}};
}

} // namespace smelt::generate
