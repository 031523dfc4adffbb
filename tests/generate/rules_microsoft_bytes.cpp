// Ops of the domain com.microsoft that take quantised bytes and give some, and compute with the numbers between.
#include "tests/generate/operands.h"
#include "tests/generate/rules.h"
#include "tests/generate/scales.h"
#include "tests/generate/windows.h"

#include <algorithm>

namespace smelt::generate {

namespace {

using Drawn = std::optional<Value>;

/// A scale and a zero point, as constants: ONNX Runtime reads them when it loads a model. Results have no powers of two:
/// between two steps it takes the one that is even with the zero point.
void addCoding(Drawing &draw, std::vector<Value> &inputs, ElementType type) {
  inputs.push_back(draw.initializer(Wire::FLOAT, {}, kByteScale));
  Bounds range = rangeOf(type);
  inputs.push_back(draw.chance(0.5)
                       ? draw.scalar(type, draw.pick(std::vector<double>{0, range.low, range.high}))
                       : draw.initializer(type, {}, range));
}

/// `value` with its coding.
void addCoded(Drawing &draw, std::vector<Value> &inputs, const Value &value) {
  inputs.push_back(value);
  addCoding(draw, inputs, value.type);
}

/// The operand with its coding, and that of the result.
std::vector<Value> drawUnaryInputs(Drawing &draw, const Value &operand) {
  std::vector<Value> inputs;
  addCoded(draw, inputs, operand);
  addCoding(draw, inputs, operand.type);
  return inputs;
}

Drawn drawByteAveragePool(Drawing &draw, const Value &operand) {
  const Shape &shape = operand.shape;
  if (!isByte(operand.type) || shape.size() != 4 || !isFilled(shape))
    return std::nullopt;
  bool isLast = draw.chance(0.5);
  size_t first = isLast ? 1 : 2;
  WindowOptions options;
  options.mayDilate = false;
  options.padsLessThanKernel = true;
  Windows windows = drawWindows(draw, {shape[first], shape[first + 1]}, options);
  Shape result = shape;
  result[first] = windows.counts[0], result[first + 1] = windows.counts[1];
  return draw.node("com.microsoft.QLinearAveragePool", drawUnaryInputs(draw, operand),
                   Attributes()
                       .add("kernel_shape", windows.kernel)
                       .add("strides", windows.strides)
                       .add("pads", windows.pads)
                       .add("count_include_pad", draw.between(0, 1))
                       .add("channels_last", isLast ? 1 : 0),
                   operand.type, result, rangeOf(operand.type));
}

Drawn drawReduceMean(Drawing &draw, const Value &operand) {
  if (!isByte(operand.type) || operand.shape.empty() || !isFilled(operand.shape))
    return std::nullopt;
  bool keeps = draw.chance(0.5);
  std::vector<int64_t> axes;
  Shape shape;
  size_t must = drawAxis(draw, operand.shape);
  for (size_t axis = 0; axis < operand.shape.size(); ++axis) {
    bool isReduced = axis == must || draw.chance(0.3);
    if (isReduced)
      axes.push_back(spelledAxis(draw, axis, operand.shape.size()));
    if (!isReduced || keeps)
      shape.push_back(isReduced ? Size::of(1) : operand.shape[axis]);
  }
  return draw.node("com.microsoft.QLinearReduceMean", drawUnaryInputs(draw, operand),
                   Attributes().add("axes", axes).add("keepdims", keeps ? 1 : 0), operand.type,
                   shape, rangeOf(operand.type));
}

/// Steps of 1 / 256 from the smallest byte on hold every probability. Up to opset 12 it is that of all axes from one on.
Drawn drawSoftmax(Drawing &draw, const Value &operand) {
  if (!isByte(operand.type) || operand.shape.empty() || !isFilled(operand.shape))
    return std::nullopt;
  Bounds range = rangeOf(operand.type);
  std::vector<Value> inputs;
  addCoded(draw, inputs, operand);
  inputs.push_back(draw.scalar(Wire::FLOAT, 1.0 / 256));
  inputs.push_back(draw.scalar(operand.type, range.low));
  size_t axis = drawAxis(draw, operand.shape);
  return draw.node("com.microsoft.QLinearSoftmax", inputs,
                   Attributes()
                       .add("axis", spelledAxis(draw, axis, operand.shape.size()))
                       .add("opset", draw.chance(0.5) ? 13 : 11),
                   operand.type, operand.shape, range);
}

Drawn drawByteWhere(Drawing &draw, const Value &operand) {
  if (!isByte(operand.type))
    return std::nullopt;
  ElementType type = operand.type;
  Value condition = partner(draw, operand, Wire::BOOL, {0, 1});
  auto chosen = broadcast(operand.shape, condition.shape);
  if (!chosen)
    return std::nullopt;
  Value other = partner(draw, {"", type, *chosen, rangeOf(type), false}, type, rangeOf(type));
  auto shape = broadcast(*chosen, other.shape);
  if (!shape || largestCount(*shape) > 1 << 17)
    return std::nullopt;
  std::vector<Value> inputs{condition};
  addCoded(draw, inputs, operand);
  addCoded(draw, inputs, other);
  addCoding(draw, inputs, type);
  return draw.node("com.microsoft.QLinearWhere", inputs, {}, type, *shape, rangeOf(type));
}

} // namespace

std::vector<Rule> microsoftByteRules() {
  return {{"com.microsoft.QLinearAveragePool", 11, drawByteAveragePool},
          {"com.microsoft.QLinearReduceMean", 11, drawReduceMean},
          {"com.microsoft.QLinearSoftmax", 11, drawSoftmax},
          {"com.microsoft.QLinearWhere", 11, drawByteWhere}};
}

} // namespace smelt::generate
