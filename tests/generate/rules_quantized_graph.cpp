// Products and convolutions as ONNX Runtime's static quantiser leaves them: floats that pass through bytes before each op and
// behind it, weights that are bytes, biases that are int32.
#include "tests/generate/operands.h"
#include "tests/generate/rules.h"
#include "tests/generate/windows.h"

#include <algorithm>
#include <cmath>

namespace smelt::generate {

namespace {

using Drawn = std::optional<Value>;

/// What the elements of a quantised tensor stand for.
struct Coding {
  ElementType type;
  Value scale, zeroPoint;
  std::vector<double> scales; ///< one, or one for each element along the axis
  Attributes attributes;

  double largest() const {
    return *std::max_element(scales.begin(), scales.end()) *
           (rangeOf(type).magnitude() + zeroPoint.bounds.magnitude());
  }
};

/// The same scale for all, or one of `count` along `axis`. Now and then the zero point is omitted: it is 0 then.
struct Granularity {
  int64_t count = 1, axis = 0;
  bool isPerChannel = false;

  Shape shape() const { return isPerChannel ? Shape{Size::of(count)} : Shape(); }
};

/// Scales between two powers of two; in most graphs powers themselves, with which all sums are exact.
std::vector<double> drawScales(Drawing &draw, size_t count, int64_t low, int64_t high) {
  bool arePowers = draw.chance(0.8);
  std::vector<double> scales(count);
  for (double &scale : scales) {
    double power = std::ldexp(1.0, static_cast<int>(draw.between(low, high)));
    scale = arePowers ? power : static_cast<float>(power * (1 + draw.random.uniform()));
  }
  return scales;
}

/// Parameters are constants, as a rule; what an input gives instead is known all the same.
Value drawParameter(Drawing &draw, ElementType type, const Shape &shape,
                    const std::vector<double> &values) {
  bool isInput = values.size() == 1 && draw.chance(0.05);
  return isInput ? draw.input(type, shape, {values[0], values[0]})
                 : draw.tensor(type, shape, values);
}

double drawZero(Drawing &draw, ElementType type) {
  Bounds range = rangeOf(type);
  static const std::vector<const char *> kChoices = {"low", "high", "any", "any"};
  std::string_view choice = draw.pick(kChoices);
  double any = static_cast<double>(
      draw.between(static_cast<int64_t>(range.low), static_cast<int64_t>(range.high)));
  return choice == "low" ? range.low : choice == "high" ? range.high : any;
}

/// Scales from 2^`low` to 2^`high`; `zeroes`: how often there is a zero point other than 0.
Coding drawCoding(Drawing &draw, ElementType type, const Granularity &granularity, int64_t low,
                  int64_t high, double zeroes) {
  size_t count = static_cast<size_t>(granularity.count);
  Coding coding{type, {}, {}, drawScales(draw, count, low, high), {}};
  coding.scale = drawParameter(draw, Wire::FLOAT, granularity.shape(), coding.scales);
  bool hasZeroes = draw.chance(zeroes);
  std::vector<double> zeroPoints(count, 0);
  if (hasZeroes)
    for (double &zeroPoint : zeroPoints)
      zeroPoint = drawZero(draw, type);
  if (hasZeroes || type != Wire::UINT8 || draw.chance(0.8))
    coding.zeroPoint = drawParameter(draw, type, granularity.shape(), zeroPoints);
  if (granularity.isPerChannel)
    coding.attributes.add("axis", granularity.axis);
  return coding;
}

std::vector<Value> withCoding(const Value &value, const Coding &coding) {
  std::vector<Value> inputs{value, coding.scale};
  if (!coding.zeroPoint.name.empty())
    inputs.push_back(coding.zeroPoint);
  return inputs;
}

Value quantized(Drawing &draw, const Value &value, const Coding &coding) {
  return draw.node("QuantizeLinear", withCoding(value, coding), coding.attributes, coding.type,
                   value.shape, rangeOf(coding.type));
}

Value dequantized(Drawing &draw, const Value &codes, const Coding &coding) {
  double most = coding.largest();
  return draw.node("DequantizeLinear", withCoding(codes, coding), coding.attributes, Wire::FLOAT,
                   codes.shape, {-most, most});
}

ElementType drawByteType(Drawing &draw) { return draw.chance(0.5) ? Wire::INT8 : Wire::UINT8; }

/// Bytes; now and then shorts, of which no product of bytes may be made.
ElementType drawActivationType(Drawing &draw) {
  bool isShort = draw.chance(0.05);
  return isShort && draw.opset() >= 21 ? ElementType(Wire::INT16) : drawByteType(draw);
}

struct Activation {
  Value value;
  double scale; ///< the largest of its codes
  ElementType type;
};

/// Floats from bytes, or through bytes.
Activation drawActivation(Drawing &draw, const Value &source) {
  ElementType type = isFloat(source.type) ? drawActivationType(draw) : source.type;
  Coding coding = drawCoding(draw, type, {}, -7, -4, 0.6);
  Value codes = isFloat(source.type) ? quantized(draw, draw.tamed(source, 4), coding) : source;
  return {dequantized(draw, codes, coding), coding.scales[0], type};
}

/// Whether a value may pass through bytes.
bool mayBeActivation(const Value &value) {
  return (value.type == Wire::FLOAT || isByte(value.type)) && !hasDerived(value.shape);
}

/// Constant bytes as floats, with a scale for each element along `axis` or for all. Now and then floats that pass through
/// bytes, as training for quantisation leaves them.
struct Weight {
  Value value;
  std::vector<double> scales;
};

Weight drawWeight(Drawing &draw, const Shape &shape, size_t axis) {
  Granularity granularity;
  granularity.isPerChannel = draw.opset() >= 13 && draw.chance(0.5);
  if (granularity.isPerChannel)
    granularity = {shape[axis].values[0], spelledAxis(draw, axis, shape.size()), true};
  Coding coding = drawCoding(draw, drawByteType(draw), granularity, -8, -7, 0.3);
  bool isFloat = draw.chance(0.1);
  Value codes = isFloat ? quantized(draw, draw.initializer(Wire::FLOAT, shape, {-0.5, 0.5}), coding)
                        : draw.initializer(coding.type, shape, rangeOf(coding.type));
  return {dequantized(draw, codes, coding), coding.scales};
}

/// A float for each of `count` channels, or int32 in units of the products of both scales; the quantiser writes this one.
Value drawBias(Drawing &draw, const Size &count, double scale, const Weight &weight) {
  if (draw.chance(0.3))
    return draw.initializer(Wire::FLOAT, {count}, {-1, 1});
  std::vector<double> scales;
  for (double each : weight.scales)
    scales.push_back(static_cast<float>(scale * each));
  bool isPerChannel = scales.size() > 1;
  Value codes = draw.initializer(Wire::INT32, {count}, {-4000, 4000});
  std::vector<Value> inputs{
      codes, draw.tensor(Wire::FLOAT, isPerChannel ? Shape{count} : Shape(), scales)};
  if (draw.chance(0.5))
    inputs.push_back(draw.tensor(Wire::INT32, isPerChannel ? Shape{count} : Shape(),
                                 std::vector<double>(scales.size(), 0)));
  Attributes attributes;
  if (isPerChannel)
    attributes.add("axis", 0);
  double most = 4000 * *std::max_element(scales.begin(), scales.end());
  return draw.node("DequantizeLinear", inputs, attributes, Wire::FLOAT, {count}, {-most, most});
}

/// Relu, the sum with another quantised tensor, both or neither; then bytes, and floats again.
Value finishQuantized(Drawing &draw, Value value, double depth) {
  if (draw.chance(0.3) && !hasDerived(value.shape)) {
    ElementType type = draw.chance(0.5) ? ElementType(Wire::FLOAT) : drawByteType(draw);
    Bounds bounds = type == Wire::FLOAT ? Bounds{-4, 4} : rangeOf(type);
    Value other = drawActivation(draw, operand(draw, type, value.shape, bounds)).value;
    double most = value.bounds.magnitude() + other.bounds.magnitude();
    bool isFirst = draw.chance(0.5);
    value = draw.node("Add", {isFirst ? value : other, isFirst ? other : value}, {}, Wire::FLOAT,
                      value.shape, {-most, most});
  }
  if (draw.chance(0.4))
    value = draw.node("Relu", {value}, {}, Wire::FLOAT, value.shape, {0, value.bounds.high});
  if (draw.chance(0.2))
    return value;
  // Sums of random signs grow by the root of their number: most lie within the range, some beyond it.
  int64_t usual = static_cast<int64_t>(std::floor(std::log2(std::sqrt(depth) / 64)));
  Coding coding = drawCoding(draw, drawActivationType(draw), {}, usual, usual + 2, 0.6);
  Value codes = quantized(draw, value, coding);
  return draw.chance(0.5) ? dequantized(draw, codes, coding) : codes;
}

Bounds sumBounds(const Value &left, const Value &right, double depth, double bias) {
  double most = left.bounds.magnitude() * right.bounds.magnitude() * depth + bias;
  return {-most, most};
}

Value drawQuantizedMatMul(Drawing &draw, const Activation &left, const Size &columns) {
  const Value &value = left.value;
  const Size &depth = value.shape.back();
  bool isWeight = (depth.isConstant() && columns.isConstant()) && draw.chance(0.7);
  Shape shape{depth, columns}, result = value.shape;
  if (!isWeight && draw.chance(0.5))
    shape.insert(shape.begin(), value.shape.begin(), value.shape.end() - 2);
  result.back() = columns;
  ElementType type = draw.chance(0.5) ? ElementType(Wire::FLOAT) : drawByteType(draw);
  Bounds bounds = type == Wire::FLOAT ? Bounds{-2, 2} : rangeOf(type);
  Value right = isWeight ? drawWeight(draw, shape, shape.size() - 1).value
                         : drawActivation(draw, operand(draw, type, shape, bounds)).value;
  return draw.node("MatMul", {value, right}, {}, Wire::FLOAT, result,
                   sumBounds(value, right, static_cast<double>(depth.largest()), 0));
}

/// Of a matrix and a constant weight, either of them turned, with or without a bias.
Value drawQuantizedGemm(Drawing &draw, const Activation &left, const Size &columns) {
  const Value &value = left.value;
  bool turnsLeft = draw.chance(0.15) && value.shape[0].isConstant(), turnsRight = draw.chance(0.6);
  const Size &depth = value.shape[turnsLeft ? 0 : 1], &rows = value.shape[turnsLeft ? 1 : 0];
  Weight weight = drawWeight(draw, turnsRight ? Shape{columns, depth} : Shape{depth, columns},
                             turnsRight ? 0 : 1);
  std::vector<Value> inputs{value, weight.value};
  double most = 0;
  if (draw.chance(0.7)) {
    inputs.push_back(drawBias(draw, columns, left.scale, weight));
    most = inputs[2].bounds.magnitude();
  }
  Attributes attributes;
  if (turnsLeft)
    attributes.add("transA", 1);
  if (turnsRight)
    attributes.add("transB", 1);
  return draw.node("Gemm", inputs, attributes, Wire::FLOAT, {rows, columns},
                   sumBounds(value, weight.value, static_cast<double>(depth.largest()), most));
}

Drawn drawQuantizedProduct(Drawing &draw, const Value &operand) {
  size_t rank = operand.shape.size();
  if (!mayBeActivation(operand) || rank < 2 || largestCount(operand.shape) > 1 << 16 ||
      largestCount(operand.shape) == 0)
    return std::nullopt;
  Activation left = drawActivation(draw, operand);
  bool isGemm = rank == 2 && operand.shape[1].isConstant() && draw.chance(0.5);
  Size columns = isGemm || draw.chance(0.7) ? draw.drawConstant(129) : draw.drawSize(129);
  Value product =
      isGemm ? drawQuantizedGemm(draw, left, columns) : drawQuantizedMatMul(draw, left, columns);
  return finishQuantized(draw, product, static_cast<double>(operand.shape.back().largest()));
}

/// Padded with what stands for 0: the zero point.
Drawn drawQuantizedConvolution(Drawing &draw, const Value &operand) {
  if (!mayBeActivation(operand))
    return std::nullopt;
  auto drawn = drawConvolution(draw, operand.shape);
  if (!drawn)
    return std::nullopt;
  Activation input = drawActivation(draw, operand);
  Weight filter = drawWeight(draw, drawn->filter, 0);
  std::vector<Value> inputs{input.value, filter.value};
  double most = 0;
  if (draw.chance(0.6)) {
    inputs.push_back(drawBias(draw, drawn->filter[0], input.scale, filter));
    most = inputs[2].bounds.magnitude();
  }
  Value result = draw.node("Conv", inputs, drawn->attributes, Wire::FLOAT, drawn->result,
                           sumBounds(input.value, filter.value, drawn->depth(), most));
  return finishQuantized(draw, result, drawn->depth());
}

} // namespace

std::vector<Rule> quantizedGraphRules() {
  return {{"quantised product", 11, drawQuantizedProduct},
          {"quantised convolution", 11, drawQuantizedConvolution}};
}

} // namespace smelt::generate
