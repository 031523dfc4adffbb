// The quantised ops of the domain com.microsoft: arithmetic and products of bytes with scales and zero points, and products
// with weights of few bits.
#include "tests/generate/operands.h"
#include "tests/generate/rules.h"

namespace smelt::generate {

namespace {

using Drawn = std::optional<Value>;

Value drawScale(Drawing &draw, const Shape &shape = {}) {
  return draw.leaf(Wire::FLOAT, shape, {0.02, 0.1});
}

Value drawByteZeroPoint(Drawing &draw, ElementType type, const Shape &shape = {}) {
  return draw.leaf(type, shape, rangeOf(type));
}

Drawn drawPlainQuantize(Drawing &draw, const Value &operand) {
  if (operand.type != Wire::FLOAT)
    return std::nullopt;
  ElementType type = draw.chance(0.5) ? Wire::INT8 : Wire::UINT8;
  return draw.node("com.microsoft.QuantizeLinear",
                   {operand, drawScale(draw), drawByteZeroPoint(draw, type)}, {}, type,
                   operand.shape, rangeOf(type));
}

Drawn drawPlainDequantize(Drawing &draw, const Value &operand) {
  if (!isByte(operand.type))
    return std::nullopt;
  double most = 0.2 * rangeOf(operand.type).magnitude();
  return draw.node("com.microsoft.DequantizeLinear",
                   {operand, drawScale(draw), drawByteZeroPoint(draw, operand.type)}, {},
                   Wire::FLOAT, operand.shape, {-most, most});
}

Drawn drawByteBinary(Drawing &draw, const Value &operand, const std::string &op) {
  if (!isByte(operand.type))
    return std::nullopt;
  ElementType type = operand.type;
  Value other = partner(draw, operand, type, rangeOf(type));
  auto shape = broadcast(operand.shape, other.shape);
  if (!shape)
    return std::nullopt;
  return draw.node("com.microsoft." + op,
                   {operand, drawScale(draw), drawByteZeroPoint(draw, type), other, drawScale(draw),
                    drawByteZeroPoint(draw, type), drawScale(draw), drawByteZeroPoint(draw, type)},
                   {}, type, *shape, rangeOf(type));
}

DrawNode byteBinary(const std::string &op) {
  return [op](Drawing &draw, const Value &operand) { return drawByteBinary(draw, operand, op); };
}

Drawn drawByteUnary(Drawing &draw, const Value &operand, const std::string &op) {
  if (!isByte(operand.type))
    return std::nullopt;
  ElementType type = operand.type;
  Attributes attributes;
  if (op == "QLinearLeakyRelu" && draw.chance(0.5))
    attributes.add("alpha", 0.25f);
  return draw.node("com.microsoft." + op,
                   {operand, drawScale(draw), drawByteZeroPoint(draw, type), drawScale(draw),
                    drawByteZeroPoint(draw, type)},
                   attributes, type, operand.shape, rangeOf(type));
}

DrawNode byteUnary(const std::string &op) {
  return [op](Drawing &draw, const Value &operand) { return drawByteUnary(draw, operand, op); };
}

Drawn drawByteConcat(Drawing &draw, const Value &operand) {
  if (!isByte(operand.type) || operand.shape.empty() || hasDerived(operand.shape))
    return std::nullopt;
  ElementType type = operand.type;
  size_t axis = drawAxis(draw, operand.shape);
  Value other = generate::operand(draw, type, operand.shape, rangeOf(type));
  Shape shape = operand.shape;
  shape[axis] = draw.changed(shape[axis], [](int64_t extent) { return 2 * extent; });
  return draw.node(
      "com.microsoft.QLinearConcat",
      {drawScale(draw), drawByteZeroPoint(draw, type), operand, drawScale(draw),
       drawByteZeroPoint(draw, type), other, drawScale(draw), drawByteZeroPoint(draw, type)},
      Attributes().add("axis", spelledAxis(draw, axis, shape.size())), type, shape, rangeOf(type));
}

Drawn drawByteGlobalPool(Drawing &draw, const Value &operand) {
  if (!isByte(operand.type) || operand.shape.size() != 4)
    return std::nullopt;
  for (const Size &size : operand.shape)
    if (size.smallest() < 1)
      return std::nullopt;
  ElementType type = operand.type;
  bool isLast = draw.chance(0.5);
  Shape shape = operand.shape;
  shape[isLast ? 1 : 2] = shape[isLast ? 2 : 3] = Size::of(1);
  return draw.node("com.microsoft.QLinearGlobalAveragePool",
                   {operand, drawScale(draw), drawByteZeroPoint(draw, type), drawScale(draw),
                    drawByteZeroPoint(draw, type)},
                   Attributes().add("channels_last", isLast ? 1 : 0), type, shape, rangeOf(type));
}

/// What a product of bytes needs beside its left factor [..., depth].
struct Weights {
  ElementType type;
  Size depth, columns;
  Shape granularity; ///< of scale and zero point: one, or one a column
};

std::optional<Weights> drawWeights(Drawing &draw, const Value &left) {
  bool fits = left.shape.size() >= 2 && !hasDerived(left.shape) &&
              largestCount(left.shape) <= 1 << 16 && left.shape.back().smallest() > 0;
  if (!fits)
    return std::nullopt;
  Weights weights{
      draw.chance(0.5) ? Wire::INT8 : Wire::UINT8, left.shape.back(), draw.drawSize(65), {}};
  if (draw.chance(0.5))
    weights.granularity = {weights.columns};
  return weights;
}

Shape weightedShape(const Value &left, const Weights &weights) {
  Shape shape = left.shape;
  shape.back() = weights.columns;
  return shape;
}

Drawn drawDynamicProduct(Drawing &draw, const Value &operand) {
  auto weights = operand.type == Wire::FLOAT ? drawWeights(draw, operand) : std::nullopt;
  if (!weights)
    return std::nullopt;
  Value input = draw.tamed(operand, 8);
  std::vector<Value> inputs{
      input, draw.leaf(weights->type, {weights->depth, weights->columns}, rangeOf(weights->type)),
      drawScale(draw, weights->granularity),
      draw.chance(0.6) ? drawByteZeroPoint(draw, weights->type, weights->granularity)
                       : Drawing::omitted()};
  if (draw.chance(0.5))
    inputs.push_back(draw.leaf(Wire::FLOAT, {weights->columns}, {-1, 1}));
  double most = 8.0 * 51 * static_cast<double>(weights->depth.largest()) + 1;
  return draw.node("com.microsoft.DynamicQuantizeMatMul", inputs, {}, Wire::FLOAT,
                   weightedShape(input, *weights), {-most, most});
}

Drawn drawScaledByteProduct(Drawing &draw, const Value &operand) {
  auto weights = isByte(operand.type) ? drawWeights(draw, operand) : std::nullopt;
  if (!weights)
    return std::nullopt;
  std::vector<Value> inputs{
      operand,
      draw.leaf(weights->type, {weights->depth, weights->columns}, rangeOf(weights->type)),
      drawScale(draw),
      drawScale(draw, weights->granularity),
      draw.chance(0.6) ? drawByteZeroPoint(draw, operand.type) : Drawing::omitted(),
      draw.chance(0.6) ? drawByteZeroPoint(draw, weights->type, weights->granularity)
                       : Drawing::omitted()};
  if (draw.chance(0.5))
    inputs.push_back(draw.leaf(Wire::FLOAT, {weights->columns}, {-1, 1}));
  double most = 51.0 * 51 * static_cast<double>(weights->depth.largest()) + 1;
  return draw.node("com.microsoft.MatMulIntegerToFloat", inputs, {}, Wire::FLOAT,
                   weightedShape(operand, *weights), {-most, most});
}

/// Weights of 4 or 8 bits in blocks of the depth, each with a scale and now and then a zero point.
Drawn drawFewBitsProduct(Drawing &draw, const Value &operand) {
  auto weights = operand.type == Wire::FLOAT || operand.type == Wire::FLOAT16
                     ? drawWeights(draw, operand)
                     : std::nullopt;
  if (!weights || !weights->depth.isConstant() || !weights->columns.isConstant())
    return std::nullopt;
  int64_t bits = draw.chance(0.7) ? 4 : 8, block = draw.chance(0.5) ? 16 : 32,
          depth = weights->depth.values[0], columns = weights->columns.values[0],
          blocks = (depth + block - 1) / block;
  Value input = draw.tamed(operand, 2);
  std::vector<Value> inputs{
      input,
      draw.initializer(Wire::UINT8,
                       {Size::of(columns), Size::of(blocks), Size::of(block * bits / 8)},
                       rangeOf(Wire::UINT8)),
      draw.leaf(operand.type, {Size::of(columns * blocks)}, {0.001, 0.01})};
  if (draw.chance(0.5))
    inputs.push_back(draw.initializer(Wire::UINT8, {Size::of(columns * ((blocks * bits + 7) / 8))},
                                      rangeOf(Wire::UINT8)));
  double most = 2 * 2.56 * static_cast<double>(depth);
  return draw.node(
      "com.microsoft.MatMulNBits", inputs,
      Attributes().add("K", depth).add("N", columns).add("bits", bits).add("block_size", block),
      operand.type, weightedShape(input, *weights), {-most, most});
}

} // namespace

std::vector<Rule> microsoftQuantizedRules() {
  return {{"com.microsoft.DequantizeLinear", 11, drawPlainDequantize},
          {"com.microsoft.DynamicQuantizeMatMul", 11, drawDynamicProduct},
          {"com.microsoft.MatMulIntegerToFloat", 11, drawScaledByteProduct},
          {"com.microsoft.MatMulNBits", 11, drawFewBitsProduct},
          {"com.microsoft.QLinearAdd", 11, byteBinary("QLinearAdd")},
          {"com.microsoft.QLinearConcat", 11, drawByteConcat},
          {"com.microsoft.QLinearGlobalAveragePool", 11, drawByteGlobalPool},
          {"com.microsoft.QLinearLeakyRelu", 11, byteUnary("QLinearLeakyRelu")},
          {"com.microsoft.QLinearMul", 11, byteBinary("QLinearMul")},
          {"com.microsoft.QLinearSigmoid", 11, byteUnary("QLinearSigmoid")},
          {"com.microsoft.QuantizeLinear", 11, drawPlainQuantize}};
}

} // namespace smelt::generate
