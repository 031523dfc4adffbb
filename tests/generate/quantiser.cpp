#include "tests/generate/quantiser.h"

#include "tests/generate/operands.h"
#include "tests/generate/rules.h"

#include <algorithm>
#include <cmath>

namespace smelt::generate {

namespace {

ElementType drawStoredType(Drawing &draw) { return draw.chance(0.5) ? Wire::INT8 : Wire::UINT8; }

/// An end of the type, or any.
double drawZero(Drawing &draw, ElementType type) {
  Bounds range = rangeOf(type);
  int64_t low = static_cast<int64_t>(range.low), high = static_cast<int64_t>(range.high),
          any = draw.between(low, high);
  return static_cast<double>(draw.pick(std::vector<int64_t>{low, high, any, any, any, any}));
}

std::vector<Value> withCoding(const Value &value, const Value &scale, const Value &zeroPoint) {
  std::vector<Value> inputs{value, scale};
  if (!zeroPoint.name.empty())
    inputs.push_back(zeroPoint);
  return inputs;
}

/// Codes of all values; now and then all at one end, with which sums are largest.
Value drawCodes(Drawing &draw, ElementType type, const Shape &shape) {
  Bounds range = rangeOf(type);
  bool isExtreme = draw.chance(0.06), isLow = draw.chance(0.5);
  if (isExtreme)
    range = isLow ? Bounds{range.low, range.low} : Bounds{range.high, range.high};
  return draw.initializer(type, shape, range);
}

} // namespace

double Quantiser::Coding::largest() const {
  return *std::max_element(scales.begin(), scales.end()) *
         (rangeOf(type).magnitude() + zeroPoint.bounds.magnitude());
}

double Quantiser::drawNumber(Exponents exponents) {
  double power = std::ldexp(1.0, static_cast<int>(draw.between(exponents.low, exponents.high)));
  return arePowers ? power : static_cast<float>(power * (1 + draw.random.uniform()));
}

/// A constant, as a rule; what an input gives instead is known all the same.
Value Quantiser::parameter(ElementType type, const Shape &shape,
                           const std::vector<double> &values) {
  bool isInput = values.size() == 1 && draw.chance(0.05);
  return isInput ? draw.input(type, shape, {values[0], values[0]})
                 : draw.tensor(type, shape, values);
}

Quantiser::Coding Quantiser::coding(ElementType type, const Granularity &granularity,
                                    Exponents scales, double zeroes) {
  size_t count = static_cast<size_t>(largestCount(granularity.shape));
  Coding drawn{type, {}, {}, std::vector<double>(count), granularity.attributes};
  for (double &scale : drawn.scales)
    scale = drawNumber(scales);
  drawn.scale = parameter(Wire::FLOAT, granularity.shape, drawn.scales);
  bool hasZeroes = draw.chance(zeroes);
  std::vector<double> zeroPoints(count, 0);
  if (hasZeroes)
    for (double &zeroPoint : zeroPoints)
      zeroPoint = drawZero(draw, type);
  if (hasZeroes || type != Wire::UINT8 || draw.chance(0.8))
    drawn.zeroPoint = parameter(type, granularity.shape, zeroPoints);
  return drawn;
}

Quantiser::Granularity Quantiser::ofAll() {
  return {draw.chance(0.1) ? Shape{Size::of(1)} : Shape(), {}};
}

Quantiser::Granularity Quantiser::alongAxis(const Shape &shape, size_t axis) {
  return {{shape[axis]}, Attributes().add("axis", spelledAxis(draw, axis, shape.size()))};
}

Value Quantiser::quantized(const Value &value, const Coding &coding) {
  return draw.node("QuantizeLinear", withCoding(value, coding.scale, coding.zeroPoint),
                   coding.attributes, coding.type, value.shape, rangeOf(coding.type));
}

Value Quantiser::dequantized(const Value &codes, const Coding &coding) {
  double most = coding.largest();
  return draw.node("DequantizeLinear", withCoding(codes, coding.scale, coding.zeroPoint),
                   coding.attributes, Wire::FLOAT, codes.shape, {-most, most});
}

ElementType Quantiser::activationType() {
  bool isShort = draw.chance(0.05);
  return isShort && draw.opset() >= 21 ? ElementType(Wire::INT16) : drawStoredType(draw);
}

bool Quantiser::takes(const Value &value) {
  return (value.type == Wire::FLOAT || isByte(value.type)) && !hasDerived(value.shape);
}

Quantiser::Granularity Quantiser::activationGranularity(const Shape &shape) {
  size_t axis = drawAxis(draw, shape);
  bool isPerElement = draw.opset() >= 13 && shape[axis].isConstant() && draw.chance(0.05);
  return isPerElement ? alongAxis(shape, axis) : ofAll();
}

Quantiser::Activation Quantiser::activation(const Value &source) {
  constexpr Exponents kScales{-6, -4};
  ElementType type = isFloat(source.type) ? activationType() : source.type;
  Granularity granularity = activationGranularity(source.shape);
  Coding from = coding(type, granularity, kScales, 0.6);
  if (!isFloat(source.type))
    return {dequantized(source, from), from.scales[0]};
  Value codes = quantized(draw.tamed(source, 4), from);
  bool isRescaled = draw.chance(0.05); // it stands for other numbers than it came from
  Coding to = isRescaled ? coding(type, granularity, kScales, 0.6) : from;
  return {dequantized(codes, to), to.scales[0]};
}

Quantiser::Granularity Quantiser::weightGranularity(const Shape &shape, size_t axis) {
  bool isPerChannel = draw.opset() >= 13 && draw.chance(0.5);
  if (!isPerChannel)
    return ofAll();
  size_t other = shape.size() == 2 ? 1 - axis : axis + 1; // sums go along it
  bool isBlocked = shape.size() == 2 && draw.opset() >= 21 && draw.chance(0.1);
  if (!isBlocked)
    return alongAxis(shape, draw.chance(0.06) ? other : axis);
  int64_t block = draw.pick(std::vector<int64_t>{2, 16, 32});
  Granularity drawn{shape, {}};
  drawn.shape[other] = Size::of((shape[other].values[0] + block - 1) / block);
  drawn.attributes.add("axis", spelledAxis(draw, other, shape.size())).add("block_size", block);
  return drawn;
}

Quantiser::Weight Quantiser::weight(const Shape &shape, size_t axis) {
  Coding drawn = coding(drawStoredType(draw), weightGranularity(shape, axis), {-8, -7}, 0.3);
  bool isTrained = draw.chance(0.1); // for quantisation: floats that pass through bytes
  Value codes = isTrained ? quantized(draw.initializer(Wire::FLOAT, shape, {-0.5, 0.5}), drawn)
                          : drawCodes(draw, drawn.type, shape);
  return {dequantized(codes, drawn), drawn.scales};
}

Value Quantiser::bias(const Size &count, double scale, const Weight &weight) {
  constexpr double kMost = 4000;
  size_t channels = static_cast<size_t>(count.values[0]);
  bool isPlain = weight.scales.size() != 1 && weight.scales.size() != channels;
  if (isPlain || draw.chance(0.3))
    return draw.initializer(Wire::FLOAT, {count}, {-1, 1});
  std::vector<double> scales;
  for (double each : weight.scales)
    scales.push_back(static_cast<float>(scale * each));
  Shape shape = scales.size() == 1 ? Shape() : Shape{count};
  std::vector<Value> inputs{draw.initializer(Wire::INT32, {count}, {-kMost, kMost}),
                            draw.tensor(Wire::FLOAT, shape, scales)};
  if (draw.chance(0.5))
    inputs.push_back(draw.tensor(Wire::INT32, shape, std::vector<double>(scales.size(), 0)));
  Attributes attributes;
  if (!shape.empty())
    attributes.add("axis", 0);
  double most = kMost * *std::max_element(scales.begin(), scales.end());
  return draw.node("DequantizeLinear", inputs, attributes, Wire::FLOAT, {count}, {-most, most});
}

Value Quantiser::result(const Value &sums, double depth) {
  // Sums of random signs grow by the root of their number, those of one sign by that number.
  double root = std::log2(std::sqrt(depth));
  int64_t least = static_cast<int64_t>(std::floor(root)) - 6,
          most = least + 2 + static_cast<int64_t>(root);
  Coding drawn = coding(activationType(), ofAll(), {least, most}, 0.6);
  Value codes = quantized(sums, drawn);
  return draw.chance(0.5) ? dequantized(codes, drawn) : codes;
}

} // namespace smelt::generate
