// Reductions, running sums, softmax, and norms as one op.
#include "tests/generate/operands.h"
#include "tests/generate/rules.h"

#include <algorithm>
#include <cmath>

namespace smelt::generate {

namespace {

using Drawn = std::optional<Value>;

bool isWideInteger(ElementType type) { return isInteger(type) && elementBytes(type) >= 4; }

/// One axis, several neighbours or others, or all.
std::vector<size_t> drawAxes(Drawing &draw, const Shape &shape) {
  std::vector<size_t> axes;
  double density = draw.chance(0.5) ? 0 : 0.5;
  size_t one = drawAxis(draw, shape);
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (axis == one || draw.chance(density))
      axes.push_back(axis);
  return axes;
}

struct Reduced {
  Value result;
  Shape axes; ///< that were reduced
};

/// The axes as attribute or input, as the opset has it; none of either for all of them.
Value reduceNode(Drawing &draw, const std::string &op, const Value &operand,
                 const std::vector<size_t> &axes, bool keep, Bounds bounds) {
  Shape shape;
  std::vector<int64_t> named;
  for (size_t axis = 0; axis < operand.shape.size(); ++axis) {
    bool isReduced = std::find(axes.begin(), axes.end(), axis) != axes.end();
    if (!isReduced)
      shape.push_back(operand.shape[axis]);
    else if (keep)
      shape.push_back(Size::of(1));
    if (isReduced)
      named.push_back(spelledAxis(draw, axis, operand.shape.size()));
  }
  Attributes attributes;
  if (!keep || draw.chance(0.3))
    attributes.add("keepdims", keep ? 1 : 0);
  bool allUnnamed = axes.size() == operand.shape.size() && draw.chance(0.5);
  bool asInput = draw.opset() >= (op == "ReduceSum" ? 13 : 18);
  std::vector<Value> inputs{operand};
  if (!allUnnamed && asInput)
    inputs.push_back(draw.integers(named));
  else if (!allUnnamed)
    attributes.add("axes", named);
  return draw.node(op, inputs, attributes, operand.type, shape, bounds);
}

Drawn drawReduce(Drawing &draw, const Value &operand, const std::string &op) {
  bool isExtreme = op == "ReduceMax" || op == "ReduceMin";
  bool taken = isFloat(operand.type) || isWideInteger(operand.type) ||
               (isExtreme && draw.opset() >= 12 && isByte(operand.type)) ||
               (isExtreme && draw.opset() >= 20 && operand.type == Wire::BOOL);
  if (!taken || operand.shape.empty() || (operand.type == Wire::BFLOAT16 && draw.opset() < 13))
    return std::nullopt;
  bool isWhole = !isFloat(operand.type);
  if (isWhole &&
      (op == "ReduceMean" || op == "ReduceL2" || op == "ReduceLogSum" || op == "ReduceLogSumExp"))
    return std::nullopt; // how they round is nowhere said
  std::vector<size_t> axes = drawAxes(draw, operand.shape);
  double count = 1;
  for (size_t axis : axes)
    count *= static_cast<double>(operand.shape[axis].largest());
  Value input = operand;
  if (!isExtreme)
    input = draw.tamed(
        operand, isWhole ? 1e3 : std::clamp(safeMagnitude(operand.type) / (4 * count), 1.0, 1e3));
  double top = input.bounds.magnitude();
  Bounds bounds = input.bounds;
  if (op == "ReduceSum")
    bounds = {input.bounds.low * count, input.bounds.high * count};
  else if (op == "ReduceProd") {
    if (isWhole ? count > 8 : count > 64)
      return std::nullopt;
    if (isWhole)
      input = draw.tamed(input, 3), top = input.bounds.magnitude();
    else
      input = draw.positive(draw.tamed(input, 0.75), 0.5), top = input.bounds.high;
    bool isPositive = !isWhole || !isSigned(operand.type);
    bounds = {isPositive ? 0 : -std::pow(top, count), std::pow(std::max(top, 1.0), count)};
    if (bounds.high > safeMagnitude(operand.type))
      return std::nullopt;
  } else if (op == "ReduceL1")
    bounds = {0, top * count};
  else if (op == "ReduceL2")
    bounds = {0, top * std::sqrt(count)};
  else if (op == "ReduceSumSquare")
    bounds = {0, top * top * count};
  else if (op == "ReduceLogSum") {
    input = draw.positive(input, 0.25);
    bounds = {-2, std::log(std::max(input.bounds.high * count, 1.0))};
  } else if (op == "ReduceLogSumExp")
    bounds = {input.bounds.low, input.bounds.high + std::log(std::max(count, 1.0))};
  if (isFloat(operand.type) && bounds.magnitude() > safeMagnitude(operand.type) * 3)
    return std::nullopt;
  return reduceNode(draw, op, input, axes, draw.chance(0.5), bounds);
}

Drawn drawCumSum(Drawing &draw, const Value &operand) {
  bool taken = operand.type == Wire::FLOAT || operand.type == Wire::DOUBLE ||
               isWideInteger(operand.type) || (draw.opset() >= 14 && isFloat(operand.type));
  if (!taken || operand.shape.empty())
    return std::nullopt;
  size_t axis = drawAxis(draw, operand.shape);
  double count = static_cast<double>(operand.shape[axis].largest());
  Value input = draw.tamed(operand, 10);
  Attributes attributes;
  for (const char *name : {"exclusive", "reverse"})
    if (draw.chance(0.4))
      attributes.add(name, 1);
  if (input.bounds.magnitude() * count > safeMagnitude(operand.type))
    return std::nullopt;
  double most = input.bounds.magnitude() * count;
  return draw.node(
      "CumSum", {input, draw.integerScalar(spelledAxis(draw, axis, operand.shape.size()))},
      attributes, operand.type, operand.shape, {isSigned(operand.type) ? -most : 0, most});
}

/// Of short lines, so that products neither vanish nor overflow.
Drawn drawCumProd(Drawing &draw, const Value &operand) {
  bool isWhole = operand.type == Wire::INT32 || operand.type == Wire::INT64;
  if ((!isWhole && !isFloat(operand.type)) || operand.shape.empty())
    return std::nullopt;
  size_t axis = drawAxis(draw, operand.shape);
  auto count = static_cast<double>(operand.shape[axis].largest());
  if (count > (isWhole ? 8 : 32))
    return std::nullopt;
  Value input = isWhole ? draw.tamed(operand, 3) : draw.positive(draw.tamed(operand, 0.5), 0.75);
  Attributes attributes;
  for (const char *name : {"exclusive", "reverse"})
    if (draw.chance(0.4))
      attributes.add(name, 1);
  double most = std::max(std::pow(input.bounds.magnitude(), count), 1.0);
  if (most > safeMagnitude(operand.type))
    return std::nullopt;
  return draw.node("CumProd",
                   {input, draw.integerScalar(spelledAxis(draw, axis, operand.shape.size()))},
                   attributes, operand.type, operand.shape, {isWhole ? -most : 0, most});
}

/// Values, or positions where they do not hang on how floats are rounded.
Drawn drawTopK(Drawing &draw, const Value &operand) {
  bool isExact = !isFloat(operand.type);
  if (operand.type == Wire::BOOL || operand.type == Wire::BFLOAT16 ||
      operand.type == Wire::FLOAT16 || operand.shape.empty())
    return std::nullopt;
  size_t axis = drawAxis(draw, operand.shape);
  if (!operand.shape[axis].isConstant() || operand.shape[axis].largest() == 0)
    return std::nullopt;
  int64_t count = draw.between(1, std::min<int64_t>(operand.shape[axis].largest(), 20));
  Attributes attributes;
  attributes.add("axis", spelledAxis(draw, axis, operand.shape.size()));
  attributes.add("largest", draw.between(0, 1));
  Value values = operand, positions = operand;
  values.shape[axis] = Size::of(count);
  positions = values;
  positions.type = Wire::INT64;
  positions.bounds = {0, static_cast<double>(operand.shape[axis].largest())};
  return draw.nodes("TopK", {operand, draw.integers({count})}, attributes,
                    {values, positions})[isExact && draw.chance(0.5) ? 1 : 0];
}

/// Of integers, which are compared exactly.
Drawn drawArg(Drawing &draw, const Value &operand, const char *op) {
  if (!isInteger(operand.type) || operand.shape.empty())
    return std::nullopt;
  size_t axis = drawAxis(draw, operand.shape);
  if (operand.shape[axis].smallest() < 1)
    return std::nullopt;
  Attributes attributes;
  attributes.add("axis", spelledAxis(draw, axis, operand.shape.size()));
  Shape shape = operand.shape;
  shape[axis] = Size::of(1);
  if (draw.chance(0.5)) {
    attributes.add("keepdims", 0);
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  }
  if (draw.opset() >= 12 && draw.chance(0.3))
    attributes.add("select_last_index", 1);
  return draw.node(op, {operand}, attributes, Wire::INT64, shape,
                   {0, static_cast<double>(operand.shape[axis].largest())});
}

Drawn drawSoftmax(Drawing &draw, const Value &operand, const char *op) {
  if (!isFloat(operand.type) || operand.shape.empty() ||
      (operand.type == Wire::BFLOAT16 && draw.opset() < 13))
    return std::nullopt;
  size_t axis = drawAxis(draw, operand.shape);
  Value input = draw.tamed(operand, 20);
  bool isLog = std::string_view(op) == "LogSoftmax";
  return draw.node(op, {input},
                   Attributes().add("axis", spelledAxis(draw, axis, operand.shape.size())),
                   operand.type, operand.shape, isLog ? Bounds{-50, 0} : Bounds{0, 1});
}

/// The first normalised axis: one from which on all sizes are numbers, for the weights' sake.
std::optional<size_t> normAxis(Drawing &draw, const Shape &shape) {
  if (shape.empty() || !shape.back().isConstant())
    return std::nullopt;
  size_t axis = shape.size() - 1;
  while (axis > 0 && shape[axis - 1].isConstant() && draw.chance(0.2))
    --axis;
  return axis;
}

Drawn drawNorm(Drawing &draw, const Value &operand, const std::string &op) {
  auto axis = normAxis(draw, operand.shape);
  if (!isFloat(operand.type) || !axis)
    return std::nullopt;
  Shape normalised(operand.shape.begin() + static_cast<std::ptrdiff_t>(*axis), operand.shape.end());
  std::vector<Value> inputs{draw.tamed(operand, 1e3),
                            draw.leaf(operand.type, normalised, {0.5, 1.5})};
  if (op == "LayerNormalization" && draw.chance(0.7))
    inputs.push_back(draw.leaf(operand.type, normalised, {-1, 1}));
  Attributes attributes;
  attributes.add("axis", spelledAxis(draw, *axis, operand.shape.size()));
  if (draw.chance(0.5))
    attributes.add("epsilon", draw.chance(0.5) ? 1e-5f : 1e-2f);
  double largest = std::sqrt(static_cast<double>(largestCount(normalised))) * 1.5 + 1;
  return draw.node(op, inputs, attributes, operand.type, operand.shape, {-largest, largest});
}

Rule norm(const char *op, int64_t since) {
  return {op, since,
          [=](Drawing &draw, const Value &operand) { return drawNorm(draw, operand, op); }};
}
Rule reduction(const char *op) {
  return {op, 11,
          [=](Drawing &draw, const Value &operand) { return drawReduce(draw, operand, op); }};
}

} // namespace

std::vector<Rule> reductionRules() {
  return {
      reduction("ReduceSum"),
      reduction("ReduceMean"),
      reduction("ReduceMax"),
      reduction("ReduceMin"),
      reduction("ReduceProd"),
      reduction("ReduceL1"),
      reduction("ReduceL2"),
      reduction("ReduceLogSum"),
      reduction("ReduceLogSumExp"),
      reduction("ReduceSumSquare"),
      {"CumProd", 26, drawCumProd},
      {"CumSum", 11, drawCumSum},
      {"TopK", 11, drawTopK},
      {"ArgMax", 1,
       [](Drawing &draw, const Value &operand) { return drawArg(draw, operand, "ArgMax"); }},
      {"ArgMin", 1,
       [](Drawing &draw, const Value &operand) { return drawArg(draw, operand, "ArgMin"); }},
      {"Softmax", 11,
       [](Drawing &draw, const Value &operand) { return drawSoftmax(draw, operand, "Softmax"); }},
      {"LogSoftmax", 11,
       [](Drawing &draw, const Value &operand) {
         return drawSoftmax(draw, operand, "LogSoftmax");
       }},
      norm("LayerNormalization", 17),
      norm("RMSNormalization", 23),
      norm("SimplifiedLayerNormalization", 7)};
}

} // namespace smelt::generate
