// Attention as exporters spell it, out of products and a softmax: within the windows of an image, and with so many rows that
// the kernels for much work run.
#include "tests/generate/operands.h"
#include "tests/generate/rules.h"

namespace smelt::generate {

namespace {

using Drawn = std::optional<Value>;

struct Operands {
  Value query, key, value; ///< [batch, heads, rows or columns, size]
};

Value product(Drawing &draw, const Value &left, const Value &right, const Shape &shape,
              Bounds bounds) {
  return draw.node("MatMul", {left, right}, {}, left.type, shape, bounds);
}

/// Q K^T, scaled so that a softmax of it says something.
Value drawScores(Drawing &draw, const Operands &from) {
  const Shape &query = from.query.shape, &key = from.key.shape;
  Shape turned{key[0], key[1], key[3], key[2]};
  std::vector<int64_t> permutation{0, 1, 3, 2};
  Value transposed = draw.node("Transpose", {from.key}, Attributes().add("perm", permutation),
                               from.key.type, turned, from.key.bounds);
  Value scale = draw.scalar(from.query.type, 0.25);
  double most = from.query.bounds.magnitude();
  Value scaled = draw.node("Mul", {from.query, scale}, {}, from.query.type, query, {-most, most});
  double sum = most * from.key.bounds.magnitude() * static_cast<double>(query[3].largest());
  return product(draw, scaled, transposed, {query[0], query[1], query[2], key[2]}, {-sum, sum});
}

Value plus(Drawing &draw, const Value &scores, const Value &term) {
  double most = scores.bounds.magnitude() + term.bounds.magnitude();
  return draw.node("Add", {scores, term}, {}, scores.type, scores.shape, {-most, most});
}

Value reshaped(Drawing &draw, const Value &value, const Shape &shape) {
  std::vector<int64_t> sizes;
  for (const Size &size : shape)
    sizes.push_back(size.values[0]);
  return draw.node("Reshape", {value, draw.integers(sizes)}, {}, value.type, shape, value.bounds);
}

Value drawResult(Drawing &draw, const Value &scores, const Value &value) {
  auto axis = static_cast<int64_t>(scores.shape.size() - 1);
  Value probabilities = draw.node("Softmax", {scores}, Attributes().add("axis", axis), scores.type,
                                  scores.shape, {0, 1});
  Shape shape = scores.shape;
  shape.back() = value.shape.back();
  return product(draw, probabilities, value, shape, value.bounds);
}

/// The operand holds the queries of several windows of several images. A mask of the windows repeats with the images.
Drawn drawWindowedAttention(Drawing &draw, const Value &operand) {
  const Shape &shape = operand.shape;
  bool taken = isFloat(operand.type) && shape.size() == 4 && isStatic(shape) && isFilled(shape) &&
               largestCount(shape) <= 1 << 14;
  std::vector<int64_t> counts;
  for (int64_t count : {2, 3, 4, 8})
    if (taken && shape[0].values[0] % count == 0)
      counts.push_back(count);
  if (counts.empty())
    return std::nullopt;
  int64_t windows = draw.pick(counts), images = shape[0].values[0] / windows;
  Size columns = draw.chance(0.5) ? shape[2] : draw.drawConstant(65);
  Bounds bounds{-1, 1};
  Operands from{
      draw.tamed(operand, 4),
      generate::operand(draw, operand.type, {shape[0], shape[1], columns, shape[3]}, bounds),
      generate::operand(draw, operand.type, {shape[0], shape[1], columns, shape[3]}, bounds)};
  Value scores = drawScores(draw, from);
  Shape merged = scores.shape;
  if (draw.chance(0.6)) // of positions, of all windows alike or of each
    scores =
        plus(draw, scores,
             draw.leaf(scores.type,
                       {draw.chance(0.7) ? Size::of(1) : merged[0], merged[1], merged[2], columns},
                       {-2, 2}));
  Shape split{Size::of(images), Size::of(windows), merged[1], merged[2], columns};
  Size rows = draw.chance(0.3) ? Size::of(1) : merged[2];
  Value mask =
      draw.leaf(scores.type, {Size::of(1), Size::of(windows), Size::of(1), rows, columns}, {-3, 3});
  scores = reshaped(draw, plus(draw, reshaped(draw, scores, split), mask), merged);
  return drawResult(draw, scores, from.value);
}

/// So many rows of so many heads that blocks of 64 fill a large GPU once.
Shape drawManyRows(Drawing &draw) {
  constexpr int64_t kBlocks = 132;
  int64_t heads = draw.pick(std::vector<int64_t>{1, 2, 4, 12}),
          rows = draw.pick(std::vector<int64_t>{65, 77, 128, 129, 197, 300}),
          size = draw.pick(std::vector<int64_t>{8, 16, 24, 32, 40, 64, 80, 128}),
          perHead = (rows + 63) / 64 * heads, batch = (kBlocks + perHead - 1) / perHead;
  return {Size::of(batch), Size::of(heads), Size::of(rows), Size::of(size)};
}

/// What is added to scores: by key, by head, by query, by everything, or nothing.
Drawn drawBias(Drawing &draw, ElementType type, const Shape &query, const Size &columns) {
  Size one = Size::of(1);
  switch (draw.between(0, 4)) {
  case 0:
    return draw.leaf(type, {query[0], one, one, columns}, {-3, 3});
  case 1:
    return draw.leaf(type, {one, query[1], query[2], columns}, {-3, 3});
  case 2:
    return draw.leaf(type, {query[2], columns}, {-3, 3});
  case 3:
    return draw.leaf(type, {query[0], query[1], one, columns}, {-3, 3});
  default:
    return std::nullopt;
  }
}

Value drawOp(Drawing &draw, const Operands &from, Drawn bias) {
  std::vector<Value> inputs{from.query, from.key, from.value};
  Attributes attributes;
  if (bias)
    inputs.push_back(*bias);
  if (draw.chance(0.3))
    attributes.add("is_causal", 1);
  if (draw.chance(0.2))
    attributes.add("softcap", 8.0f);
  Shape shape = from.query.shape;
  shape.back() = from.value.shape.back();
  return draw.node("Attention", inputs, attributes, from.query.type, shape, from.value.bounds);
}

/// Computed in float of 16-bit operands, as an export does whose caches alone are short.
Operands widened(Drawing &draw, const Operands &from) {
  auto widen = [&](const Value &value) {
    return draw.node("Cast", {value}, Attributes().add("to", static_cast<int64_t>(Wire::FLOAT)),
                     Wire::FLOAT, value.shape, value.bounds);
  };
  return {widen(from.query), widen(from.key), widen(from.value)};
}

/// The operand's mean moves the queries.
Drawn drawAttentionOfManyRows(Drawing &draw, const Value &operand) {
  bool taken = isFloat(operand.type) && operand.type != Wire::DOUBLE && isFilled(operand.shape) &&
               largestCount(operand.shape) <= 1 << 12;
  if (!taken)
    return std::nullopt;
  Shape shape = drawManyRows(draw), keys = shape, values = shape;
  Value mean = draw.node("ReduceMean", {draw.tamed(operand, 4)}, Attributes().add("keepdims", 0),
                         operand.type, {}, {-4, 4});
  bool isOp = draw.opset() >= 23 && draw.chance(0.5);
  keys[2] = values[2] = draw.chance(0.3) ? shape[2] : draw.drawSize(300);
  if (!isFilled(keys))
    return std::nullopt;
  if (isOp && shape[1].values[0] % 2 == 0 && draw.chance(0.4))
    keys[1] = values[1] = Size::of(shape[1].values[0] / 2);
  if (draw.chance(0.2))
    values[3] = Size::of(draw.pick(std::vector<int64_t>{16, 48, 72}));
  Bounds bounds{-1, 1};
  Operands from{plus(draw, generate::operand(draw, operand.type, shape, bounds), mean),
                generate::operand(draw, operand.type, keys, bounds),
                generate::operand(draw, operand.type, values, bounds)};
  if (!isOp && operand.type != Wire::FLOAT && draw.chance(0.3))
    from = widened(draw, from);
  Drawn bias = drawBias(draw, from.query.type, shape, keys[2]);
  if (isOp)
    return drawOp(draw, from, bias);
  Value scores = drawScores(draw, from);
  return drawResult(draw, bias ? plus(draw, scores, *bias) : scores, from.value);
}

} // namespace

std::vector<Rule> attentionGraphRules() {
  return {{"windowed attention", 13, drawWindowedAttention},
          {"attention of many rows", 18, drawAttentionOfManyRows}};
}

} // namespace smelt::generate
