// Conversions between floats and bytes that stand for scale * (q - zero point). (Their products are with the other
// products.)
#include "tests/generate/operands.h"
#include "tests/generate/rules.h"
#include "tests/generate/scales.h"

namespace smelt::generate {

namespace {

using Drawn = std::optional<Value>;

bool isShort(ElementType type) { return isInteger(type) && elementBytes(type) <= 2; }

/// Where scales and zero points lie: one for all, one for each element along an axis, or one for each block along it.
struct Granularity {
  Shape shape;
  Attributes attributes;
};

Granularity drawGranularity(Drawing &draw, const Shape &shape) {
  Granularity drawn;
  bool isPlain = shape.empty() || hasDerived(shape) || draw.opset() < 13 || draw.chance(0.5);
  if (isPlain)
    return drawn;
  size_t axis = drawAxis(draw, shape);
  drawn.shape = {shape[axis]};
  drawn.attributes.add("axis", spelledAxis(draw, axis, shape.size()));
  if (draw.opset() >= 21 && shape[axis].isConstant() && draw.chance(0.3)) {
    int64_t block = draw.between(1, 9);
    drawn.shape = shape;
    drawn.shape[axis] = Size::of((shape[axis].values[0] + block - 1) / block);
    drawn.attributes.add("block_size", block);
  }
  return drawn;
}

Drawn drawQuantize(Drawing &draw, const Value &operand) {
  bool isTaken =
      operand.type == Wire::FLOAT ||
      ((operand.type == Wire::FLOAT16 || operand.type == Wire::BFLOAT16) && draw.opset() >= 19);
  if (!isTaken)
    return std::nullopt;
  Granularity drawn = drawGranularity(draw, operand.shape);
  Value scale = operand.type == Wire::FLOAT ? drawScale(draw, drawn.shape, {0.02, 0.1})
                                            : draw.leaf(operand.type, drawn.shape, {0.02, 0.1});
  static const std::vector<ElementType> kTypes = {Wire::INT8, Wire::UINT8, Wire::INT16,
                                                  Wire::UINT16};
  ElementType type = draw.opset() >= 21 ? draw.pick(kTypes)
                     : draw.chance(0.5) ? Wire::INT8
                                        : Wire::UINT8;
  std::vector<Value> inputs{operand, scale};
  if (type != Wire::UINT8 || draw.chance(0.7))
    inputs.push_back(drawZeroPoint(draw, type, drawn.shape));
  return draw.node("QuantizeLinear", inputs, drawn.attributes, type, operand.shape, rangeOf(type));
}

Drawn drawDequantize(Drawing &draw, const Value &operand) {
  bool isTaken = isByte(operand.type) || operand.type == Wire::INT32 ||
                 (isShort(operand.type) && draw.opset() >= 21);
  if (!isTaken)
    return std::nullopt;
  Granularity drawn = drawGranularity(draw, operand.shape);
  std::vector<Value> inputs{operand, drawScale(draw, drawn.shape, {0.01, 0.1})};
  if (isShort(operand.type) && draw.chance(0.7))
    inputs.push_back(drawZeroPoint(draw, operand.type, drawn.shape));
  double zeroPoint = isShort(operand.type) ? rangeOf(operand.type).magnitude() : 0,
         largest = (operand.bounds.magnitude() + zeroPoint) * 0.1;
  return draw.node("DequantizeLinear", inputs, drawn.attributes, Wire::FLOAT, operand.shape,
                   {-largest, largest});
}

Drawn drawDynamicQuantize(Drawing &draw, const Value &operand) {
  if (operand.type != Wire::FLOAT)
    return std::nullopt;
  double largest = operand.bounds.magnitude() + 1;
  return draw.nodes("DynamicQuantizeLinear", {operand}, {},
                    {Value{"", Wire::UINT8, operand.shape, {0, 255}, false},
                     Value{"", Wire::FLOAT, {}, {0, largest}, false},
                     Value{"", Wire::UINT8, {}, {0, 255}, false}})[0];
}

} // namespace

std::vector<Rule> quantizedRules() {
  return {{"QuantizeLinear", 10, drawQuantize},
          {"DequantizeLinear", 10, drawDequantize},
          {"DynamicQuantizeLinear", 11, drawDynamicQuantize}};
}

} // namespace smelt::generate
