// Products and convolutions as static quantisers leave them: between floats that pass through bytes. What looks like one, but
// is none, is among them: factors that stayed floats, shorts, scales of blocks.
#include "tests/generate/operands.h"
#include "tests/generate/quantiser.h"
#include "tests/generate/rules.h"
#include "tests/generate/windows.h"

#include <algorithm>

namespace smelt::generate {

namespace {

using Drawn = std::optional<Value>;

Bounds sumBounds(const Value &left, const Value &right, double depth, double bias) {
  double most = left.bounds.magnitude() * right.bounds.magnitude() * depth + bias;
  return {-most, most};
}

Value turned(Drawing &draw, const Value &value) {
  size_t rank = value.shape.size();
  std::vector<int64_t> permutation;
  for (size_t axis = 0; axis < rank; ++axis)
    permutation.push_back(static_cast<int64_t>(axis));
  std::swap(permutation[rank - 1], permutation[rank - 2]);
  Shape shape = value.shape;
  std::swap(shape[rank - 1], shape[rank - 2]);
  return draw.node("Transpose", {value}, Attributes().add("perm", permutation), value.type, shape,
                   value.bounds);
}

/// Bytes or floats of this shape that pass through bytes.
Value drawOther(Drawing &draw, Quantiser &quantiser, const Shape &shape) {
  ElementType type =
      draw.pick(std::vector<ElementType>{Wire::FLOAT, Wire::FLOAT, Wire::INT8, Wire::UINT8});
  return quantiser
      .activation(operand(draw, type, shape, isFloat(type) ? Bounds{-3, 3} : rangeOf(type)))
      .value;
}

/// The sum with another quantised tensor, Relu, both or neither; then bytes.
Value finish(Drawing &draw, Quantiser &quantiser, Value value, double depth) {
  if (draw.chance(0.3) && !hasDerived(value.shape)) {
    Value other = drawOther(draw, quantiser, value.shape);
    double most = value.bounds.magnitude() + other.bounds.magnitude();
    bool isFirst = draw.chance(0.5);
    value = draw.node("Add", {isFirst ? value : other, isFirst ? other : value}, {}, Wire::FLOAT,
                      value.shape, {-most, most});
  }
  if (draw.chance(0.4))
    value = draw.node("Relu", {value}, {}, Wire::FLOAT, value.shape, {0, value.bounds.high});
  return draw.chance(0.8) ? quantiser.result(value, depth) : value;
}

/// The right factor of a product with [..., depth]: a weight, as it is or stored with its axes exchanged, or an activation
/// of as many batch axes, or of none.
Value drawRight(Drawing &draw, Quantiser &quantiser, const Shape &left, const Size &columns) {
  const Size &depth = left.back();
  bool isWeight = depth.isConstant() && columns.isConstant() && draw.chance(0.7),
       isTurned = draw.chance(0.25);
  if (isWeight && draw.chance(0.05))
    return draw.initializer(Wire::FLOAT, {depth, columns}, {-1, 1});
  if (isWeight)
    return isTurned ? turned(draw, quantiser.weight({columns, depth}, 0).value)
                    : quantiser.weight({depth, columns}, 1).value;
  Shape shape;
  if (draw.chance(0.6))
    shape.assign(left.begin(), left.end() - 2);
  if (!shape.empty() && draw.chance(0.2))
    shape[0] = Size::of(1);
  shape.insert(shape.end(), {isTurned ? columns : depth, isTurned ? depth : columns});
  Value right = drawOther(draw, quantiser, shape);
  return isTurned ? turned(draw, right) : right;
}

Value drawMatMul(Drawing &draw, Quantiser &quantiser, const Value &left, const Size &columns) {
  Value right = drawRight(draw, quantiser, left.shape, columns);
  Shape result = left.shape;
  result.back() = columns;
  return draw.node("MatMul", {left, right}, {}, Wire::FLOAT, result,
                   sumBounds(left, right, static_cast<double>(left.shape.back().largest()), 0));
}

/// Of a matrix and a constant weight, either of them turned, with or without a bias.
Value drawGemm(Drawing &draw, Quantiser &quantiser, const Quantiser::Activation &left,
               const Size &columns) {
  const Value &value = left.value;
  bool turnsLeft = draw.chance(0.15) && value.shape[0].isConstant(), turnsRight = draw.chance(0.6);
  const Size &depth = value.shape[turnsLeft ? 0 : 1], &rows = value.shape[turnsLeft ? 1 : 0];
  Quantiser::Weight weight = quantiser.weight(
      turnsRight ? Shape{columns, depth} : Shape{depth, columns}, turnsRight ? 0 : 1);
  std::vector<Value> inputs{value, weight.value};
  if (draw.chance(0.7))
    inputs.push_back(quantiser.bias(columns, left.scale, weight));
  double most = inputs.size() > 2 ? inputs[2].bounds.magnitude() : 0;
  Attributes attributes;
  if (turnsLeft)
    attributes.add("transA", 1);
  if (turnsRight)
    attributes.add("transB", 1);
  return draw.node("Gemm", inputs, attributes, Wire::FLOAT, {rows, columns},
                   sumBounds(value, weight.value, static_cast<double>(depth.largest()), most));
}

/// Now and then what should pass through bytes does not.
Quantiser::Activation drawLeft(Drawing &draw, Quantiser &quantiser, const Value &operand) {
  if (operand.type == Wire::FLOAT && draw.chance(0.05))
    return {draw.tamed(operand, 4), 1.0 / 32};
  return quantiser.activation(operand);
}

Drawn drawQuantizedProduct(Drawing &draw, const Value &operand) {
  size_t rank = operand.shape.size();
  int64_t count = largestCount(operand.shape);
  if (!Quantiser::takes(operand) || rank < 2 || count > 1 << 16 || count == 0)
    return std::nullopt;
  Quantiser quantiser(draw);
  Quantiser::Activation left = drawLeft(draw, quantiser, operand);
  bool isGemm = rank == 2 && operand.shape[1].isConstant() && draw.chance(0.5);
  Size columns = isGemm || draw.chance(0.7) ? draw.drawConstant(129) : draw.drawSize(129);
  Value product = isGemm ? drawGemm(draw, quantiser, left, columns)
                         : drawMatMul(draw, quantiser, left.value, columns);
  return finish(draw, quantiser, product, static_cast<double>(operand.shape.back().largest()));
}

/// Padded with what stands for 0: the zero point.
Drawn drawQuantizedConvolution(Drawing &draw, const Value &operand) {
  auto drawn = Quantiser::takes(operand) ? drawConvolution(draw, operand.shape) : std::nullopt;
  if (!drawn)
    return std::nullopt;
  Quantiser quantiser(draw);
  Quantiser::Activation input = drawLeft(draw, quantiser, operand);
  Quantiser::Weight filter = quantiser.weight(drawn->filter, 0);
  std::vector<Value> inputs{input.value, filter.value};
  if (draw.chance(0.6))
    inputs.push_back(quantiser.bias(drawn->filter[0], input.scale, filter));
  double most = inputs.size() > 2 ? inputs[2].bounds.magnitude() : 0;
  Value result = draw.node("Conv", inputs, drawn->attributes, Wire::FLOAT, drawn->result,
                           sumBounds(input.value, filter.value, drawn->depth(), most));
  return finish(draw, quantiser, result, drawn->depth());
}

} // namespace

std::vector<Rule> quantizedGraphRules() {
  return {{"quantised product", 11, drawQuantizedProduct},
          {"quantised convolution", 11, drawQuantizedConvolution}};
}

} // namespace smelt::generate
