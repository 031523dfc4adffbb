// The quantised ops of the domain com.microsoft: arithmetic and products of bytes with scales and zero points, and products
// with weights of few bits.
#include "tests/generate/operands.h"
#include "tests/generate/rules.h"
#include "tests/generate/scales.h"

namespace smelt::generate {

namespace {

using Drawn = std::optional<Value>;

/// No power of two, as a rule: between two steps ONNX Runtime's sums of bytes take the one that is even with the zero point.
Value drawResultScale(Drawing &draw) { return draw.leaf(Wire::FLOAT, {}, kByteScale); }

Drawn drawPlainQuantize(Drawing &draw, const Value &operand) {
  if (operand.type != Wire::FLOAT)
    return std::nullopt;
  ElementType type = draw.chance(0.5) ? Wire::INT8 : Wire::UINT8;
  return draw.node("com.microsoft.QuantizeLinear",
                   {operand, drawScale(draw, {}, kByteScale), drawZeroPoint(draw, type, {})}, {},
                   type, operand.shape, rangeOf(type));
}

Drawn drawPlainDequantize(Drawing &draw, const Value &operand) {
  if (!isByte(operand.type))
    return std::nullopt;
  double most = 0.2 * rangeOf(operand.type).magnitude();
  return draw.node(
      "com.microsoft.DequantizeLinear",
      {operand, drawScale(draw, {}, kByteScale), drawZeroPoint(draw, operand.type, {})}, {},
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
                   {operand, drawScale(draw, {}, kByteScale), drawZeroPoint(draw, type, {}), other,
                    drawScale(draw, {}, kByteScale), drawZeroPoint(draw, type, {}),
                    drawResultScale(draw), drawZeroPoint(draw, type, {})},
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
                   {operand, drawScale(draw, {}, kByteScale), drawZeroPoint(draw, type, {}),
                    drawResultScale(draw), drawZeroPoint(draw, type, {})},
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
  return draw.node("com.microsoft.QLinearConcat",
                   {drawResultScale(draw), drawZeroPoint(draw, type, {}), operand,
                    drawScale(draw, {}, kByteScale), drawZeroPoint(draw, type, {}), other,
                    drawScale(draw, {}, kByteScale), drawZeroPoint(draw, type, {})},
                   Attributes().add("axis", spelledAxis(draw, axis, shape.size())), type, shape,
                   rangeOf(type));
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
                   {operand, drawScale(draw, {}, kByteScale), drawZeroPoint(draw, type, {}),
                    drawResultScale(draw), drawZeroPoint(draw, type, {})},
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
      drawScale(draw, weights->granularity, kByteScale),
      draw.chance(0.6) ? drawZeroPoint(draw, weights->type, weights->granularity)
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
      drawScale(draw, {}, kByteScale),
      drawScale(draw, weights->granularity, kByteScale),
      draw.chance(0.6) ? drawZeroPoint(draw, operand.type, {}) : Drawing::omitted(),
      draw.chance(0.6) ? drawZeroPoint(draw, weights->type, weights->granularity)
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

/// Either matrix turned; the addend counts in steps of the product's scale. Bytes where the result has a scale, else floats.
Drawn drawQGemm(Drawing &draw, const Value &operand) {
  bool isTaken = isByte(operand.type) && operand.shape.size() == 2 && !hasDerived(operand.shape) &&
                 largestCount(operand.shape) <= 1 << 16;
  if (!isTaken)
    return std::nullopt;
  bool turnsLeft = draw.chance(0.3), turnsRight = draw.chance(0.5), isPerColumn = draw.chance(0.5),
       isCoded = draw.chance(0.6);
  Size rows = operand.shape[turnsLeft ? 1 : 0], depth = operand.shape[turnsLeft ? 0 : 1],
       columns = draw.drawSize(129);
  ElementType type = draw.chance(0.5) ? Wire::INT8 : Wire::UINT8;
  Shape granularity = isPerColumn ? Shape{columns} : Shape();
  Value right = generate::operand(
      draw, type, turnsRight ? Shape{columns, depth} : Shape{depth, columns}, rangeOf(type));
  std::vector<Value> inputs{
      operand, drawScale(draw, {}, kByteScale),          drawZeroPoint(draw, operand.type, {}),
      right,   drawScale(draw, granularity, kByteScale), drawZeroPoint(draw, type, granularity)};
  if (draw.chance(0.6))
    inputs.push_back(draw.leaf(Wire::INT32,
                               draw.chance(0.5) ? Shape{columns} : Shape{Size::of(1), columns},
                               {-1000, 1000}));
  else if (isCoded)
    inputs.push_back(Drawing::omitted());
  double most = 52.0 * 52 * static_cast<double>(depth.largest()) + 1000;
  Bounds bounds{-most, most};
  ElementType resultType = Wire::FLOAT;
  if (isCoded) {
    inputs.push_back(drawScale(draw, {}, {1, 16}));
    inputs.push_back(drawZeroPoint(draw, operand.type, {}));
    resultType = operand.type, bounds = rangeOf(operand.type);
  }
  Attributes attributes;
  attributes.add("transA", turnsLeft ? 1 : 0).add("transB", turnsRight ? 1 : 0);
  if (draw.chance(0.3))
    attributes.add("alpha", 0.5f);
  return draw.node("com.microsoft.QGemm", inputs, attributes, resultType, {rows, columns}, bounds);
}

/// Codes of four bits that stand for entries of a table, two to a byte, in blocks with a scale each.
Drawn drawTableProduct(Drawing &draw, const Value &operand) {
  bool isTaken = operand.type == Wire::FLOAT || operand.type == Wire::FLOAT16;
  auto weights = isTaken ? drawWeights(draw, operand) : std::nullopt;
  if (!weights || !weights->depth.isConstant() || !weights->columns.isConstant())
    return std::nullopt;
  int64_t block = draw.chance(0.5) ? 16 : 32, depth = weights->depth.values[0],
          columns = weights->columns.values[0], count = depth * columns;
  Value input = draw.tamed(operand, 2);
  std::vector<Value> inputs{
      input, draw.leaf(Wire::UINT8, {Size::of((count + 1) / 2)}, rangeOf(Wire::UINT8)),
      draw.leaf(operand.type, {Size::of((count + block - 1) / block)}, {0.1, 1})};
  double most = 2 * static_cast<double>(depth);
  return draw.node("com.microsoft.MatMulBnb4", inputs,
                   Attributes()
                       .add("K", depth)
                       .add("N", columns)
                       .add("block_size", block)
                       .add("quant_type", draw.between(0, 1)),
                   operand.type, weightedShape(input, *weights), {-most, most});
}

} // namespace

std::vector<Rule> microsoftQuantizedRules() {
  return {{"com.microsoft.DequantizeLinear", 11, drawPlainDequantize},
          {"com.microsoft.DynamicQuantizeMatMul", 11, drawDynamicProduct},
          {"com.microsoft.MatMulBnb4", 11, drawTableProduct},
          {"com.microsoft.MatMulIntegerToFloat", 11, drawScaledByteProduct},
          {"com.microsoft.MatMulNBits", 11, drawFewBitsProduct},
          {"com.microsoft.QGemm", 11, drawQGemm},
          {"com.microsoft.QLinearAdd", 11, byteBinary("QLinearAdd")},
          {"com.microsoft.QLinearConcat", 11, drawByteConcat},
          {"com.microsoft.QLinearGlobalAveragePool", 11, drawByteGlobalPool},
          {"com.microsoft.QLinearLeakyRelu", 11, byteUnary("QLinearLeakyRelu")},
          {"com.microsoft.QLinearMul", 11, byteBinary("QLinearMul")},
          {"com.microsoft.QLinearSigmoid", 11, byteUnary("QLinearSigmoid")},
          {"com.microsoft.QuantizeLinear", 11, drawPlainQuantize}};
}

} // namespace smelt::generate
