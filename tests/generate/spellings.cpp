#include "tests/generate/spellings.h"

#include "tests/generate/operands.h"
#include "tests/generate/rules.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace smelt::generate {

namespace {

Value elementwise(Drawing &draw, const char *op, const Value &a, const Value &b, Bounds bounds) {
  return draw.node(op, {a, b}, {}, a.type, *broadcast(a.shape, b.shape), bounds);
}

Value unary(Drawing &draw, const char *op, const Value &a, Bounds bounds) {
  return draw.node(op, {a}, {}, a.type, a.shape, bounds);
}

Value cast(Drawing &draw, const Value &value, ElementType type) {
  return draw.node("Cast", {value}, Attributes().add("to", static_cast<int64_t>(type)), type,
                   value.shape, value.bounds);
}

Value meanOfRow(Drawing &draw, const Value &value, Bounds bounds) {
  Shape shape = value.shape;
  shape.back() = Size::of(1);
  if (draw.opset() >= 18)
    return draw.node("ReduceMean", {value, draw.integers({-1})}, {}, value.type, shape, bounds);
  return draw.node("ReduceMean", {value}, Attributes().add("axes", std::vector<int64_t>{-1}),
                   value.type, shape, bounds);
}

Value square(Drawing &draw, const Value &value) {
  Bounds bounds{0, value.bounds.magnitude() * value.bounds.magnitude()};
  if (draw.chance(0.5))
    return elementwise(draw, "Mul", value, value, bounds);
  return elementwise(draw, "Pow", value, draw.scalar(value.type, 2), bounds);
}

/// x / sqrt(m + epsilon), the root's inverse taken before or after.
Value dividedByRoot(Drawing &draw, const Value &value, const Value &moment) {
  double limit = std::sqrt(static_cast<double>(value.shape.back().largest())) * 2 + 1;
  Value shifted =
      elementwise(draw, "Add", moment, draw.scalar(value.type, draw.chance(0.5) ? 1e-3 : 1e-5),
                  {0, moment.bounds.high + 1});
  Value root = unary(draw, "Sqrt", shifted, {0, std::sqrt(shifted.bounds.high)});
  if (draw.chance(0.6))
    return elementwise(draw, "Div", value, root, {-limit, limit});
  return elementwise(draw, "Mul", value, unary(draw, "Reciprocal", root, {0, 1e3}),
                     {-limit, limit});
}

Value weighted(Drawing &draw, Value value, bool hasBias) {
  Shape shape{value.shape.back()};
  if (draw.chance(0.2))
    shape.insert(shape.begin(), value.shape.size() - 1, Size::of(1));
  double limit = value.bounds.magnitude() * 1.5 + 1;
  if (draw.chance(0.85))
    value =
        elementwise(draw, "Mul", value, draw.leaf(value.type, shape, {0.5, 1.5}), {-limit, limit});
  if (hasBias)
    value = elementwise(draw, "Add", value, draw.leaf(value.type, shape, {-1, 1}), {-limit, limit});
  return value;
}

/// The steps of a norm in one type.
Value spelledNorm(Drawing &draw, const Value &value, bool isRms) {
  Value centred = value;
  if (!isRms) {
    Value mean = meanOfRow(draw, value, value.bounds);
    centred = elementwise(draw, "Sub", value, mean,
                          {-2 * value.bounds.magnitude(), 2 * value.bounds.magnitude()});
  }
  Value moment = meanOfRow(draw, square(draw, centred),
                           {0, centred.bounds.magnitude() * centred.bounds.magnitude()});
  return dividedByRoot(draw, centred, moment);
}

std::vector<int64_t> extents(const Shape &shape) {
  std::vector<int64_t> result;
  for (const Size &size : shape)
    result.push_back(size.isConstant() ? size.values[0] : -1);
  return result;
}

Value reshape(Drawing &draw, const Value &value, const Shape &shape) {
  std::vector<int64_t> target = extents(shape);
  for (size_t axis = 0; axis < target.size(); ++axis) // a symbol that stands where it stood is kept
    if (target[axis] == -1 && axis < value.shape.size() && value.shape[axis] == shape[axis])
      target[axis] = 0;
  return draw.node("Reshape", {value, draw.integers(target)}, {}, value.type, shape, value.bounds);
}

Value transpose(Drawing &draw, const Value &value, const std::vector<int64_t> &permutation) {
  Shape shape;
  for (int64_t axis : permutation)
    shape.push_back(value.shape[static_cast<size_t>(axis)]);
  return draw.node("Transpose", {value}, Attributes().add("perm", permutation), value.type, shape,
                   value.bounds);
}

struct AttentionShape {
  ElementType type;
  Size batch, heads, groups, rows, columns, size, valueSize;
};

AttentionShape drawAttentionShape(Drawing &draw) {
  static const std::vector<ElementType> kTypes = {Wire::FLOAT, Wire::FLOAT16, Wire::FLOAT16,
                                                  Wire::BFLOAT16, Wire::DOUBLE};
  static const std::vector<int64_t> kSizes = {1, 3, 8, 16, 32, 40, 64, 64, 80, 128, 256, 300};
  AttentionShape shape;
  shape.type = draw.pick(kTypes);
  shape.batch = draw.drawSize(3);
  shape.heads = Size::of(draw.between(1, 4));
  bool isGrouped = shape.heads.values[0] % 2 == 0 && draw.chance(0.3);
  shape.groups = isGrouped ? Size::of(shape.heads.values[0] / 2) : shape.heads;
  shape.rows = draw.drawSize(130);
  shape.columns = draw.chance(0.5) ? shape.rows : draw.drawSize(200);
  shape.size = shape.valueSize = Size::of(draw.pick(kSizes));
  if (draw.chance(0.1))
    shape.valueSize = Size::of(draw.pick(kSizes));
  return shape;
}

/// [batch, heads, length, size], from a projection's [batch, length, heads * size] or as it is.
Value drawHeads(Drawing &draw, const AttentionShape &shape, const Size &heads, const Size &length,
                const Size &size) {
  if (draw.chance(0.4))
    return operand(draw, shape.type, {shape.batch, heads, length, size}, {-1, 1});
  Size hidden = Size::of(heads.values[0] * size.values[0]);
  Value flat = operand(draw, shape.type, {shape.batch, length, hidden}, {-1, 1});
  return transpose(draw, reshape(draw, flat, {shape.batch, length, heads, size}), {0, 2, 1, 3});
}

/// Each group's heads repeated for the queries that share it.
Value repeatGroups(Drawing &draw, const Value &value, const AttentionShape &shape) {
  if (shape.groups == shape.heads)
    return value;
  Shape split = value.shape, wide, joined = value.shape;
  split.insert(split.begin() + 2, Size::of(1));
  wide = split;
  wide[2] = Size::of(shape.heads.values[0] / shape.groups.values[0]);
  joined[1] = shape.heads;
  std::vector<int64_t> target(5, 1);
  target[2] = wide[2].values[0];
  Value separate =
      draw.opset() >= 13
          ? draw.node("Unsqueeze", {value, draw.integers({2})}, {}, value.type, split, value.bounds)
          : draw.node("Unsqueeze", {value}, Attributes().add("axes", std::vector<int64_t>{2}),
                      value.type, split, value.bounds);
  Value repeated =
      draw.node("Expand", {separate, draw.integers(target)}, {}, value.type, wide, value.bounds);
  std::vector<int64_t> final = {0, shape.heads.values[0], -1, value.shape[3].values[0]};
  return draw.node("Reshape", {repeated, draw.integers(final)}, {}, value.type, joined,
                   value.bounds);
}

double lowest(ElementType type) { return type == Wire::FLOAT16 ? -6e4 : -1e9; }

/// An additive mask, a mask that chooses, causality as a constant, or none.
Value masked(Drawing &draw, const Value &scores, const AttentionShape &shape) {
  Bounds bounds{-40, 40};
  double choice = draw.random.uniform();
  if (choice < 0.35)
    return scores;
  if (choice < 0.6) {
    Shape mask{draw.chance(0.5) ? shape.batch : Size::of(1),
               draw.chance(0.3) ? shape.heads : Size::of(1),
               draw.chance(0.5) ? shape.rows : Size::of(1), shape.columns};
    return elementwise(draw, "Add", scores, operand(draw, scores.type, mask, {-3, 3}), bounds);
  }
  bool isFixed = shape.rows.isConstant() && shape.columns.isConstant();
  if (choice < 0.8 || !isFixed) {
    Shape mask{shape.batch, Size::of(1), draw.chance(0.5) ? shape.rows : Size::of(1),
               shape.columns};
    Value keep = operand(draw, Wire::BOOL, mask, {0, 1});
    Value hidden = draw.scalar(scores.type, lowest(scores.type));
    return draw.node("Where", {keep, scores, hidden}, {}, scores.type, scores.shape, bounds);
  }
  std::vector<double> causal;
  int64_t rows = shape.rows.values[0], columns = shape.columns.values[0],
          offset = std::max<int64_t>(columns - rows, 0);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      causal.push_back(column <= row + offset ? 0 : -std::numeric_limits<double>::infinity());
  Value mask = draw.tensor(scores.type, {shape.rows, shape.columns}, causal);
  return elementwise(draw, "Add", scores, mask, bounds);
}

struct Scaled {
  Value query, key;
  double left; ///< what the scores are still to be multiplied by
};

/// The scale on the queries, on both factors, or on the scores.
Scaled scaleFactors(Drawing &draw, const Value &query, const Value &key, double scale) {
  double choice = draw.random.uniform();
  auto scaled = [&](const Value &value, double factor) {
    return elementwise(draw, "Mul", value, draw.scalar(value.type, factor), value.bounds);
  };
  if (choice < 0.25)
    return {scaled(query, scale), key, 1};
  if (choice < 0.4)
    return {scaled(query, std::sqrt(scale)), scaled(key, std::sqrt(scale)), 1};
  return {query, key, choice < 0.9 ? scale : 1};
}

Value scaleScores(Drawing &draw, const Value &scores, double scale) {
  if (scale == 1)
    return scores;
  if (draw.chance(0.5))
    return elementwise(draw, "Div", scores, draw.scalar(scores.type, 1 / scale), scores.bounds);
  return elementwise(draw, "Mul", scores, draw.scalar(scores.type, scale), scores.bounds);
}

Value drawDecomposed(Drawing &draw, const AttentionShape &shape) {
  Value query = drawHeads(draw, shape, shape.heads, shape.rows, shape.size);
  Value key =
      repeatGroups(draw, drawHeads(draw, shape, shape.groups, shape.columns, shape.size), shape);
  Value value = repeatGroups(
      draw, drawHeads(draw, shape, shape.groups, shape.columns, shape.valueSize), shape);
  double scale = 1 / std::sqrt(static_cast<double>(shape.size.values[0]));
  Scaled factors = scaleFactors(draw, query, key, scale);
  Value keys = transpose(draw, factors.key, {0, 1, 3, 2});
  Shape across{shape.batch, shape.heads, shape.rows, shape.columns};
  double limit = static_cast<double>(shape.size.values[0]);
  Value scores =
      draw.node("MatMul", {factors.query, keys}, {}, shape.type, across, {-limit, limit});
  scores = masked(draw, scaleScores(draw, scores, factors.left), shape);
  bool isWide = shape.type != Wire::DOUBLE && shape.type != Wire::FLOAT && draw.chance(0.4);
  if (isWide)
    scores = cast(draw, scores, Wire::FLOAT);
  int64_t axis = draw.opset() >= 13 && draw.chance(0.7) ? -1 : 3;
  Value weights =
      draw.node("Softmax", {scores}, Attributes().add("axis", axis), scores.type, across, {0, 1});
  if (isWide)
    weights = cast(draw, weights, shape.type);
  return draw.node("MatMul", {weights, value}, {}, shape.type,
                   {shape.batch, shape.heads, shape.rows, shape.valueSize}, value.bounds);
}

} // namespace

Value drawNormSpelling(Drawing &draw, const Value &operand) {
  bool isRms = draw.chance(0.4);
  const char *op = isRms ? "RMSNormalization" : "LayerNormalization";
  if (findRule(op)->isIn(draw.opset()) && draw.chance(0.4))
    if (auto value = findRule(op)->draw(draw, operand))
      return *value;
  bool isNarrow = operand.type == Wire::FLOAT16 || operand.type == Wire::BFLOAT16;
  if (!isNarrow || draw.chance(0.3))
    return weighted(draw, spelledNorm(draw, draw.tamed(operand, isNarrow ? 8 : 1e3), isRms),
                    !isRms && draw.chance(0.8));
  Value wide = spelledNorm(draw, cast(draw, operand, Wire::FLOAT), isRms);
  if (draw.chance(0.5))
    return cast(draw, weighted(draw, wide, !isRms), operand.type);
  return weighted(draw, cast(draw, wide, operand.type), !isRms);
}

Value drawAttentionSpelling(Drawing &draw) {
  AttentionShape shape = drawAttentionShape(draw);
  Value result;
  if (draw.opset() >= 23 && draw.chance(0.35)) {
    Value query = operand(
        draw, shape.type,
        {shape.batch, shape.rows, Size::of(shape.heads.values[0] * shape.size.values[0])}, {-1, 1});
    if (auto drawn = findRule("Attention")->draw(draw, query))
      return *drawn;
  }
  result = drawDecomposed(draw, shape);
  if (draw.chance(0.3))
    return result;
  Size hidden = Size::of(shape.heads.values[0] * shape.valueSize.values[0]);
  return reshape(draw, transpose(draw, result, {0, 2, 1, 3}), {shape.batch, shape.rows, hidden});
}

Value drawActivationSpelling(Drawing &draw, const Value &operand) {
  Value x = draw.tamed(operand, 50);
  Bounds bounds{-1, std::max(x.bounds.high, 1.0)};
  double choice = draw.random.uniform();
  if (choice < 0.3) { // 0.5 x (1 + erf(x / sqrt 2))
    Value inner =
        unary(draw, "Erf",
              elementwise(draw, "Div", x, draw.scalar(x.type, std::sqrt(2.0)), x.bounds), {-1, 1});
    Value gate = elementwise(draw, "Add", inner, draw.scalar(x.type, 1), {0, 2});
    return elementwise(draw, "Mul", elementwise(draw, "Mul", x, gate, bounds),
                       draw.scalar(x.type, 0.5), bounds);
  }
  if (choice < 0.55 && x.bounds.magnitude() < 20) { // the tanh approximation
    Value cube = elementwise(draw, "Pow", x, draw.scalar(x.type, 3), {-8e3, 8e3});
    Value sum = elementwise(
        draw, "Add", x, elementwise(draw, "Mul", cube, draw.scalar(x.type, 0.044715), {-400, 400}),
        {-500, 500});
    Value inner =
        unary(draw, "Tanh",
              elementwise(draw, "Mul", sum, draw.scalar(x.type, std::sqrt(2 / M_PI)), {-500, 500}),
              {-1, 1});
    Value gate = elementwise(draw, "Add", inner, draw.scalar(x.type, 1), {0, 2});
    return elementwise(draw, "Mul", elementwise(draw, "Mul", x, draw.scalar(x.type, 0.5), x.bounds),
                       gate, bounds);
  }
  if (choice < 0.8)
    return elementwise(draw, "Mul", x, unary(draw, "Sigmoid", x, {0, 1}), bounds);
  return unary(draw, "Relu", x, {0, bounds.high});
}

} // namespace smelt::generate
