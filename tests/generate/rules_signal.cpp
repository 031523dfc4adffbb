// Fourier transforms, the windows and weights that go with them, determinants.
#include "tests/generate/operands.h"
#include "tests/generate/rules.h"

#include <algorithm>
#include <cmath>

namespace smelt::generate {

namespace {

using Drawn = std::optional<Value>;

constexpr int64_t kLongestSignal = 64;

/// The number of frequencies of a one-sided spectrum.
Size halved(Drawing &draw, const Size &size) {
  std::array<int64_t, kAssignments> values = size.values;
  for (int64_t &value : values)
    value = value / 2 + 1;
  return size.isConstant() ? Size::of(values[0]) : draw.derived(values);
}

/// The operand with a last axis of one, for real numbers.
Value withParts(Drawing &draw, const Value &operand) {
  Shape shape = operand.shape;
  shape.push_back(Size::of(1));
  std::vector<int64_t> axes{-1};
  return draw.node("Unsqueeze", {operand, draw.integers(axes)}, {}, operand.type, shape,
                   operand.bounds);
}

Drawn drawDft(Drawing &draw, const Value &operand) {
  if (!isFloat(operand.type) || operand.shape.size() < 2)
    return std::nullopt;
  size_t axis = drawAxis(draw, operand.shape), rank = operand.shape.size() + 1;
  const Size &points = operand.shape[axis];
  if (points.largest() > kLongestSignal || points.smallest() < 1)
    return std::nullopt;
  bool onesided = draw.chance(0.5), inverse = !onesided && draw.chance(0.5);
  Value input = withParts(draw, draw.tamed(operand, 10));
  Attributes attributes;
  attributes.add("onesided", onesided ? 1 : 0);
  attributes.add("inverse", inverse ? 1 : 0);
  std::vector<Value> inputs{input};
  auto named = static_cast<int64_t>(axis) - (draw.chance(0.5) ? static_cast<int64_t>(rank) : 0);
  if (draw.opset() < 20) {
    attributes.add("axis", named);
  } else {
    inputs.push_back(Drawing::omitted());
    inputs.push_back(draw.integerScalar(named));
  }
  Shape shape = input.shape;
  if (onesided)
    shape[axis] = halved(draw, points);
  shape.back() = Size::of(2);
  double most = 10 * static_cast<double>(points.largest());
  return draw.node("DFT", inputs, attributes, operand.type, shape, {-most, most});
}

/// Frames of the last axis; the axes before it are one batch.
Drawn drawStft(Drawing &draw, const Value &operand) {
  if (!isFloat(operand.type) || operand.shape.size() != 2)
    return std::nullopt;
  const Size &length = operand.shape[1];
  if (!length.isConstant() || length.largest() < 4 || length.largest() > 16 * kLongestSignal)
    return std::nullopt;
  int64_t frame = draw.between(2, std::min(length.largest(), kLongestSignal)),
          step = draw.between(std::max<int64_t>(frame / 4, 1), frame);
  Value input = withParts(draw, draw.tamed(operand, 10));
  bool onesided = draw.chance(0.6), isWindowed = draw.chance(0.6);
  std::vector<Value> inputs{input, draw.integerScalar(step)};
  inputs.push_back(isWindowed ? draw.leaf(operand.type, {Size::of(frame)}, {0, 1})
                              : Drawing::omitted());
  if (!isWindowed || draw.chance(0.5))
    inputs.push_back(draw.integerScalar(frame));
  Shape shape{operand.shape[0], Size::of((length.largest() - frame) / step + 1),
              Size::of(onesided ? frame / 2 + 1 : frame), Size::of(2)};
  double most = 10 * static_cast<double>(frame);
  return draw.node("STFT", inputs, Attributes().add("onesided", onesided ? 1 : 0), operand.type,
                   shape, {-most, most});
}

/// Of the length of the operand's last axis, which it weighs.
Drawn drawWindow(Drawing &draw, const Value &operand, const char *op) {
  if (!isFloat(operand.type) || operand.shape.empty() || operand.shape.back().smallest() < 2)
    return std::nullopt;
  Size length = operand.shape.back();
  auto rank = static_cast<int64_t>(operand.shape.size());
  Value sizes = draw.node("Shape", {operand}, {}, Wire::INT64, {Size::of(rank)}, {0, 1e6});
  Value size =
      draw.node("Gather", {sizes, draw.integerScalar(rank - 1)}, {}, Wire::INT64, {}, {0, 1e6});
  Attributes attributes;
  attributes.add("output_datatype", static_cast<int64_t>(operand.type));
  attributes.add("periodic", draw.between(0, 1));
  Value window = draw.node(op, {size}, attributes, operand.type, {length}, {-0.01, 1});
  Value input = draw.tamed(operand, 1e3);
  return draw.node("Mul", {input, window}, {}, operand.type, operand.shape,
                   {-input.bounds.magnitude(), input.bounds.magnitude()});
}

/// The operand's last axis is a spectrum.
Drawn drawMel(Drawing &draw, const Value &operand) {
  if (!isFloat(operand.type) || operand.shape.size() < 2 || !operand.shape.back().isConstant())
    return std::nullopt;
  int64_t bins = operand.shape.back().largest(), bands = draw.between(1, 20);
  if (bins < 5 || bins > 1025)
    return std::nullopt;
  Value matrix = draw.node(
      "MelWeightMatrix",
      {draw.integerScalar(bands), draw.integerScalar(2 * bins - draw.between(1, 2)),
       draw.integerScalar(8000), draw.scalar(Wire::FLOAT, 20), draw.scalar(Wire::FLOAT, 3500)},
      Attributes().add("output_datatype", static_cast<int64_t>(operand.type)), operand.type,
      {operand.shape.back(), Size::of(bands)}, {0, 1});
  Value spectrum = draw.tamed(operand, 10);
  Shape shape = operand.shape;
  shape.back() = Size::of(bands);
  double most = 10 * static_cast<double>(bins);
  return draw.node("MatMul", {spectrum, matrix}, {}, operand.type, shape, {-most, most});
}

Drawn drawDet(Drawing &draw, const Value &operand) {
  bool taken = isFloat(operand.type) && (operand.type != Wire::BFLOAT16 || draw.opset() >= 22);
  if (!taken || operand.shape.size() < 2)
    return std::nullopt;
  const Size &rows = operand.shape[operand.shape.size() - 2], &columns = operand.shape.back();
  if (!rows.isConstant() || !columns.isConstant() || rows.largest() < 1 || columns.largest() < 1)
    return std::nullopt;
  int64_t size = std::min({draw.between(1, 4), rows.largest(), columns.largest()});
  Value square = draw.tamed(operand, 10);
  Shape shape = operand.shape;
  shape.back() = shape[shape.size() - 2] = Size::of(size);
  square = draw.node(
      "Slice",
      {square, draw.integers({0, 0}), draw.integers({size, size}), draw.integers({-2, -1})}, {},
      operand.type, shape, square.bounds);
  shape.resize(shape.size() - 2);
  double most = std::pow(square.bounds.magnitude(), static_cast<double>(size)) * 24;
  if (most > safeMagnitude(operand.type))
    return std::nullopt;
  return draw.node("Det", {square}, {}, operand.type, shape, {-most, most});
}

} // namespace

std::vector<Rule> signalRules() {
  std::vector<Rule> rules = {{"DFT", 17, drawDft},
                             {"Det", 11, drawDet},
                             {"MelWeightMatrix", 17, drawMel},
                             {"STFT", 17, drawStft}};
  for (const char *op : {"BlackmanWindow", "HammingWindow", "HannWindow"})
    rules.push_back({op, 17, [op](Drawing &draw, const Value &operand) {
                       return drawWindow(draw, operand, op);
                     }});
  return rules;
}

} // namespace smelt::generate
