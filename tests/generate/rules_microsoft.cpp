// The float ops of the domain com.microsoft, which ONNX Runtime's transformer optimiser writes.
#include "tests/generate/operands.h"
#include "tests/generate/rules.h"

#include <algorithm>
#include <cmath>

namespace smelt::generate {

namespace {

using Drawn = std::optional<Value>;

constexpr Bounds kFactor{-1, 1};

bool isFusedFloat(const Value &operand) {
  return operand.type == Wire::FLOAT || operand.type == Wire::FLOAT16;
}

/// A last axis of a constant number of elements, and no size that an input cannot declare.
bool hasRows(const Value &operand, size_t leastRank) {
  return isFusedFloat(operand) && operand.shape.size() >= leastRank && !hasDerived(operand.shape) &&
         operand.shape.back().isConstant() && isFilled(operand.shape);
}

Bounds widenedBounds(Bounds bounds, double by) {
  double most = bounds.magnitude() + by;
  return {-most, most};
}

Bounds normalisedBounds(const Shape &shape, size_t first) {
  double count = static_cast<double>(
      largestCount({shape.begin() + static_cast<std::ptrdiff_t>(first), shape.end()}));
  return widenedBounds({}, 1.5 * std::sqrt(count));
}

Attributes drawSmallEpsilon(Drawing &draw) {
  Attributes attributes;
  attributes.add("epsilon", draw.chance(0.5) ? 1e-2f : 1e-3f);
  return attributes;
}

/// `op`: one of the spellings of an activation; those that take a bias along the last axis add it.
Drawn drawBiasedGelu(Drawing &draw, const Value &operand, const std::string &op) {
  if (!isFusedFloat(operand))
    return std::nullopt;
  bool hasBias = op == "BiasGelu" || (op == "FastGelu" && draw.chance(0.5));
  std::vector<Value> inputs{operand};
  if (hasBias) {
    if (operand.shape.empty() || operand.shape.back().isDerived())
      return std::nullopt;
    inputs.push_back(draw.leaf(operand.type, {operand.shape.back()}, kFactor));
  }
  Attributes attributes;
  if (op == "QuickGelu" && draw.chance(0.5))
    attributes.add("alpha", 1.0f);
  return draw.node("com.microsoft." + op, inputs, attributes, operand.type, operand.shape,
                   widenedBounds(operand.bounds, 1));
}

DrawNode biasedGelu(const std::string &op) {
  return [op](Drawing &draw, const Value &operand) { return drawBiasedGelu(draw, operand, op); };
}

Drawn drawBiasAdd(Drawing &draw, const Value &operand) {
  if (!hasRows(operand, 3) || operand.shape.size() != 3)
    return std::nullopt;
  return draw.node("com.microsoft.BiasAdd",
                   {operand, draw.leaf(operand.type, {operand.shape.back()}, kFactor),
                    generate::operand(draw, operand.type, operand.shape, kFactor)},
                   {}, operand.type, operand.shape, widenedBounds(operand.bounds, 2));
}

/// The norm of a sum; the sum itself is the fourth result.
Drawn drawSkipNorm(Drawing &draw, const Value &operand, bool isCentred) {
  if (!hasRows(operand, 3) || operand.shape.size() != 3)
    return std::nullopt;
  auto row = [&](Bounds bounds) { return draw.leaf(operand.type, {operand.shape.back()}, bounds); };
  std::vector<Value> inputs{draw.tamed(operand, 1e3),
                            generate::operand(draw, operand.type, operand.shape, kFactor),
                            row({0.5, 1.5})};
  if (isCentred)
    inputs.push_back(draw.chance(0.7) ? row(kFactor) : Drawing::omitted());
  if (draw.chance(0.4))
    inputs.push_back(row(kFactor));
  Value result = operand;
  result.bounds = normalisedBounds(operand.shape, 2);
  std::string op = isCentred ? "com.microsoft.SkipLayerNormalization"
                             : "com.microsoft.SkipSimplifiedLayerNormalization";
  return draw.nodes(op, inputs, drawSmallEpsilon(draw), {result})[0];
}

Drawn drawSkipLayerNorm(Drawing &draw, const Value &operand) {
  return drawSkipNorm(draw, operand, true);
}

Drawn drawSkipSimplifiedNorm(Drawing &draw, const Value &operand) {
  return drawSkipNorm(draw, operand, false);
}

/// alpha * A' B', either with rows and columns exchanged.
Drawn drawFusedMatMul(Drawing &draw, const Value &operand) {
  size_t rank = operand.shape.size();
  if (!isFusedFloat(operand) || rank < 2 || hasDerived(operand.shape) ||
      largestCount(operand.shape) > 1 << 16)
    return std::nullopt;
  bool turnsLeft = draw.chance(0.5), turnsRight = draw.chance(0.5);
  Size rows = operand.shape[turnsLeft ? rank - 1 : rank - 2],
       depth = operand.shape[turnsLeft ? rank - 2 : rank - 1], columns = draw.drawSize(65);
  Value left = draw.tamed(operand, 2);
  Value right = generate::operand(
      draw, operand.type, turnsRight ? Shape{columns, depth} : Shape{depth, columns}, kFactor);
  Attributes attributes;
  attributes.add("transA", turnsLeft ? 1 : 0).add("transB", turnsRight ? 1 : 0);
  if (draw.chance(0.6))
    attributes.add("alpha", 0.25f);
  Shape shape(operand.shape.begin(), operand.shape.end() - 2);
  shape.insert(shape.end(), {rows, columns});
  double most = left.bounds.magnitude() * static_cast<double>(depth.largest());
  return draw.node("com.microsoft.FusedMatMul", {left, right}, attributes, operand.type, shape,
                   {-most, most});
}

/// [N, H, W, C] normalised over groups of channels, of the sum with a skip where there is one.
Drawn drawGroupNorm(Drawing &draw, const Value &operand, bool hasSkip) {
  if (!hasRows(operand, 4) || operand.shape.size() != 4)
    return std::nullopt;
  Size channels = operand.shape[3];
  std::vector<int64_t> groups;
  for (int64_t count : {1, 2, 3, 4, 8})
    if (channels.values[0] % count == 0)
      groups.push_back(count);
  std::vector<Value> inputs{draw.tamed(operand, 100),
                            draw.leaf(Wire::FLOAT, {channels}, {0.5, 1.5}),
                            draw.leaf(Wire::FLOAT, {channels}, kFactor)};
  if (hasSkip)
    inputs.push_back(draw.leaf(operand.type,
                               draw.chance(0.5) ? operand.shape : Shape{operand.shape[0], channels},
                               kFactor));
  if (hasSkip && draw.chance(0.5))
    inputs.push_back(draw.leaf(operand.type, {channels}, kFactor));
  Attributes attributes = drawSmallEpsilon(draw);
  attributes.add("groups", draw.pick(groups)).add("activation", draw.between(0, 1));
  return draw.node(hasSkip ? "com.microsoft.SkipGroupNorm" : "com.microsoft.GroupNorm", inputs,
                   attributes, operand.type, operand.shape, normalisedBounds(operand.shape, 1));
}

Drawn drawPlainGroupNorm(Drawing &draw, const Value &operand) {
  return drawGroupNorm(draw, operand, false);
}

Drawn drawSkipGroupNorm(Drawing &draw, const Value &operand) {
  return drawGroupNorm(draw, operand, true);
}

/// [batch, heads, steps, size], turned by the rows of a table that positions name.
Drawn drawRotary(Drawing &draw, const Value &operand) {
  if (!hasRows(operand, 4) || operand.shape.size() != 4 || operand.shape[3].values[0] % 2 != 0 ||
      !operand.shape[2].isConstant())
    return std::nullopt;
  constexpr int64_t kMoreRows = 5;
  int64_t rows = operand.shape[2].values[0] + kMoreRows;
  Shape table{Size::of(rows), Size::of(operand.shape[3].values[0] / 2)};
  bool isOffset = draw.chance(0.5); // one position, from which the steps count on
  Value positions = isOffset ? draw.integers({draw.between(0, kMoreRows)})
                             : draw.leaf(Wire::INT64, {operand.shape[0], operand.shape[2]},
                                         {0, static_cast<double>(rows - 1)});
  return draw.node("com.microsoft.RotaryEmbedding",
                   {operand, positions, draw.leaf(operand.type, table, kFactor),
                    draw.leaf(operand.type, table, kFactor)},
                   Attributes().add("interleaved", draw.between(0, 1)), operand.type, operand.shape,
                   widenedBounds(operand.bounds, operand.bounds.magnitude()));
}

/// A number of heads that divides a hidden size.
int64_t drawHeadCount(Drawing &draw, int64_t hidden) {
  std::vector<int64_t> counts;
  for (int64_t heads : {1, 2, 3, 4, 8})
    if (hidden % heads == 0)
      counts.push_back(heads);
  return draw.pick(counts);
}

bool isHidden(const Value &operand) {
  return hasRows(operand, 3) && operand.shape.size() == 3 && operand.shape[2].values[0] <= 1024 &&
         largestCount(operand.shape) <= 1 << 14;
}

/// The projections of query, key and value within.
Drawn drawProjectedAttention(Drawing &draw, const Value &operand) {
  if (!isHidden(operand) || operand.shape[2].values[0] > 128)
    return std::nullopt;
  int64_t hidden = operand.shape[2].values[0];
  double scale = 1 / std::sqrt(static_cast<double>(hidden));
  Attributes attributes;
  attributes.add("num_heads", drawHeadCount(draw, hidden));
  attributes.add("unidirectional", draw.between(0, 1));
  Value input = draw.tamed(operand, 4);
  double most = 4 * std::sqrt(static_cast<double>(hidden)) + 1;
  return draw.node(
      "com.microsoft.Attention",
      {input, draw.leaf(operand.type, {operand.shape[2], Size::of(3 * hidden)}, {-scale, scale}),
       draw.leaf(operand.type, {Size::of(3 * hidden)}, kFactor)},
      attributes, operand.type, operand.shape, {-most, most});
}

/// The operand is the query.
Drawn drawMultiHeadAttention(Drawing &draw, const Value &operand) {
  if (!isHidden(operand))
    return std::nullopt;
  int64_t hidden = operand.shape[2].values[0], heads = drawHeadCount(draw, hidden);
  Shape shape = operand.shape;
  shape[1] = draw.chance(0.5) ? shape[1] : draw.drawSize(65);
  std::vector<Value> inputs{draw.tamed(operand, 4),
                            generate::operand(draw, operand.type, shape, kFactor),
                            generate::operand(draw, operand.type, shape, kFactor)};
  if (draw.chance(0.5))
    inputs.push_back(draw.leaf(operand.type, {Size::of(3 * hidden)}, kFactor));
  Attributes attributes;
  attributes.add("num_heads", heads);
  if (draw.chance(0.4))
    attributes.add("scale", 0.25f);
  if (shape[1] == operand.shape[1] && draw.chance(0.3))
    attributes.add("unidirectional", 1);
  return draw.node("com.microsoft.MultiHeadAttention", inputs, attributes, operand.type,
                   operand.shape, {-2, 2});
}

/// The operand is the table of words.
Drawn drawEmbeddingNorm(Drawing &draw, const Value &operand) {
  if (!hasRows(operand, 2) || operand.shape.size() != 2 || !operand.shape[0].isConstant())
    return std::nullopt;
  auto lastRow = [](const Size &size) {
    return Bounds{0, static_cast<double>(size.values[0] - 1)};
  };
  Size hidden = operand.shape[1], steps = draw.drawConstant(33), segments = Size::of(2);
  Shape places{draw.drawSize(4), steps};
  bool hasSegments = draw.chance(0.5);
  Value positions = draw.leaf(operand.type, {Size::of(steps.values[0] + 3), hidden}, kFactor);
  std::vector<Value> inputs{
      draw.input(Wire::INT32, places, lastRow(operand.shape[0])),
      hasSegments ? draw.input(Wire::INT32, places, lastRow(segments)) : Drawing::omitted(),
      draw.tamed(operand, 100),
      positions,
      hasSegments ? draw.leaf(operand.type, {segments, hidden}, kFactor) : Drawing::omitted(),
      draw.leaf(operand.type, {hidden}, {0.5, 1.5}),
      draw.leaf(operand.type, {hidden}, kFactor)};
  Shape shape{places[0], steps, hidden};
  return draw.node("com.microsoft.EmbedLayerNormalization", inputs, drawSmallEpsilon(draw),
                   operand.type, shape, normalisedBounds(shape, 2));
}

} // namespace

std::vector<Rule> microsoftRules() {
  return {{"com.microsoft.Attention", 11, drawProjectedAttention},
          {"com.microsoft.BiasAdd", 11, drawBiasAdd},
          {"com.microsoft.BiasGelu", 11, biasedGelu("BiasGelu")},
          {"com.microsoft.EmbedLayerNormalization", 11, drawEmbeddingNorm},
          {"com.microsoft.FastGelu", 11, biasedGelu("FastGelu")},
          {"com.microsoft.FusedMatMul", 11, drawFusedMatMul},
          {"com.microsoft.Gelu", 11, biasedGelu("Gelu")},
          {"com.microsoft.GroupNorm", 11, drawPlainGroupNorm},
          {"com.microsoft.MultiHeadAttention", 11, drawMultiHeadAttention},
          {"com.microsoft.QuickGelu", 11, biasedGelu("QuickGelu")},
          {"com.microsoft.RotaryEmbedding", 11, drawRotary},
          {"com.microsoft.SkipGroupNorm", 11, drawSkipGroupNorm},
          {"com.microsoft.SkipLayerNormalization", 11, drawSkipLayerNorm},
          {"com.microsoft.SkipSimplifiedLayerNormalization", 11, drawSkipSimplifiedNorm}};
}

} // namespace smelt::generate
