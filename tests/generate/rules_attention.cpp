// The Attention op: three and four axes, grouped heads, masks, causality, scales, soft caps.
#include "tests/generate/operands.h"
#include "tests/generate/rules.h"

#include <algorithm>

namespace smelt::generate {

namespace {

using Drawn = std::optional<Value>;

struct Heads {
  int64_t query, shared, size;
};

/// How a hidden size is divided; none where it is no number.
std::optional<Heads> drawHeads(Drawing &draw, const Size &hidden) {
  if (!hidden.isConstant() || hidden.values[0] < 1 || hidden.values[0] > 2048)
    return std::nullopt;
  std::vector<int64_t> counts;
  for (int64_t heads : {1, 2, 3, 4, 8})
    if (hidden.values[0] % heads == 0)
      counts.push_back(heads);
  int64_t heads = draw.pick(counts);
  return Heads{heads, heads % 2 == 0 && draw.chance(0.3) ? heads / 2 : heads,
               hidden.values[0] / heads};
}

/// A mask that hides no row wholly: bools whose first column holds, or numbers.
Value drawMask(Drawing &draw, ElementType type, const Size &rows, const Size &columns) {
  bool isBool = draw.chance(0.5) && rows.isConstant() && columns.isConstant();
  if (!isBool)
    return generate::operand(
        draw, type, {rows.isDerived() || draw.chance(0.3) ? Size::of(1) : rows, columns}, {-3, 3});
  std::vector<double> keep;
  for (int64_t row = 0; row < rows.values[0]; ++row)
    for (int64_t column = 0; column < columns.values[0]; ++column)
      keep.push_back(column == 0 || draw.chance(0.6) ? 1 : 0);
  return draw.tensor(Wire::BOOL, {rows, columns}, keep);
}

void describe(Drawing &draw, Attributes &attributes, const Heads &heads, bool isFlat) {
  if (isFlat)
    attributes.add("q_num_heads", heads.query).add("kv_num_heads", heads.shared);
  if (draw.chance(0.3))
    attributes.add("scale", 0.25f);
  if (draw.chance(0.2))
    attributes.add("softcap", 8.0f);
}

/// The scores or probabilities beside the result.
Value drawScores(Drawing &draw, const std::vector<Value> &inputs, Attributes attributes,
                 const Shape &scores, const Shape &output, const Shape &cache) {
  const Value &value = inputs[2];
  attributes.add("qk_matmul_output_mode", 3);
  Value result = value, present = value, probabilities = value;
  result.shape = output, present.shape = cache, probabilities.shape = scores;
  probabilities.bounds = {0, 1};
  return draw.nodes("Attention", inputs, attributes, {result, present, present, probabilities})[3];
}

/// The operand is query, key or value.
Drawn drawAttention(Drawing &draw, const Value &operand) {
  size_t rank = operand.shape.size();
  bool taken = isFloat(operand.type) && (rank == 3 || rank == 4) && !hasDerived(operand.shape);
  if (!taken || largestCount(operand.shape) > 1 << 16)
    return std::nullopt;
  bool isFlat = rank == 3;
  if (!isFlat && !operand.shape[1].isConstant())
    return std::nullopt;
  auto heads =
      isFlat ? drawHeads(draw, operand.shape[2])
             : std::optional(Heads{operand.shape[1].values[0], operand.shape[1].values[0], 0});
  if (!heads || !operand.shape.back().isConstant() || operand.shape.back().values[0] > 1024)
    return std::nullopt;
  heads->shared = isFlat ? heads->shared : heads->query;
  const Size &length = operand.shape[rank - 2];
  bool isQuery = draw.chance(0.6) || heads->shared != heads->query;
  Size other = draw.chance(0.5) ? length : draw.drawSize(129);
  Size rows = isQuery ? length : other, columns = isQuery ? other : length;
  bool isCausal = draw.chance(0.3) && rows == columns;
  auto shaped = [&](const Size &along, bool isShared) {
    Shape shape = operand.shape;
    shape[rank - 2] = along;
    if (isFlat && isShared)
      shape[2] = Size::of(heads->shared * heads->size);
    return shape;
  };
  Value mine = draw.tamed(operand, 4);
  Bounds bounds{-1, 1};
  Value query = isQuery ? mine : generate::operand(draw, operand.type, shaped(rows, false), bounds);
  bool isKey = !isQuery && draw.chance(0.5);
  Value key = isKey ? mine : generate::operand(draw, operand.type, shaped(columns, true), bounds);
  Value value = !isQuery && !isKey
                    ? mine
                    : generate::operand(draw, operand.type, shaped(columns, true), bounds);
  std::vector<Value> inputs{query, key, value};
  if (draw.chance(0.5))
    inputs.push_back(drawMask(draw, operand.type, rows, columns));
  Attributes attributes;
  describe(draw, attributes, *heads, isFlat);
  if (isCausal)
    attributes.add("is_causal", 1);
  if (rows == columns && draw.opset() >= 25 && draw.chance(0.3))
    attributes.add("left_window_size", draw.between(0, 9))
        .add("right_window_size", draw.between(-1, 4));
  if (!draw.chance(0.2))
    return draw.node("Attention", inputs, attributes, operand.type, shaped(rows, false),
                     value.bounds);
  Size size = isFlat ? Size::of(heads->size) : operand.shape[3];
  return drawScores(draw, inputs, attributes,
                    {operand.shape[0], Size::of(heads->query), rows, columns}, shaped(rows, false),
                    {operand.shape[0], Size::of(heads->shared), columns, size});
}

/// Pairs of elements turned by angles of a table, or of a table's rows at given positions.
Drawn drawRotaryEmbedding(Drawing &draw, const Value &operand) {
  size_t rank = operand.shape.size();
  bool taken = (operand.type == Wire::FLOAT || operand.type == Wire::FLOAT16 ||
                operand.type == Wire::BFLOAT16) &&
               (rank == 3 || rank == 4) && !hasDerived(operand.shape);
  if (!taken || largestCount(operand.shape) > 1 << 16)
    return std::nullopt;
  auto heads = drawHeads(draw, operand.shape.back());
  int64_t size = !heads ? 0 : rank == 4 ? operand.shape[3].values[0] : heads->size;
  if (size < 2 || (size % 2 != 0 && rank == 3 && draw.chance(0.5)))
    return std::nullopt;
  Attributes attributes;
  if (rank == 3)
    attributes.add("num_heads", heads->query);
  int64_t turned = 2 * draw.between(1, size / 2);
  if (turned != size || draw.chance(0.5))
    attributes.add("rotary_embedding_dim", turned);
  attributes.add("interleaved", draw.between(0, 1));
  const Size &length = operand.shape[rank - 2];
  Size half = Size::of(turned / 2);
  bool hasPositions = draw.chance(0.5);
  Shape table = hasPositions ? Shape{Size::of(16), half} : Shape{operand.shape[0], length, half};
  std::vector<Value> inputs{operand, draw.leaf(operand.type, table, {-1, 1}),
                            draw.leaf(operand.type, table, {-1, 1})};
  if (hasPositions)
    inputs.push_back(draw.leaf(Wire::INT64, {operand.shape[0], length}, {0, 15}));
  double most = 2 * operand.bounds.magnitude();
  return draw.node("RotaryEmbedding", inputs, attributes, operand.type, operand.shape,
                   {-most, most});
}

} // namespace

std::vector<Rule> attentionRules() {
  return {{"Attention", 23, drawAttention}, {"RotaryEmbedding", 23, drawRotaryEmbedding}};
}

const std::vector<Rule> &rules() {
  static const std::vector<Rule> kRules = [] {
    std::vector<Rule> all;
    for (auto family : {elementwiseRules,
                        activationRules,
                        bitRules,
                        viewRules,
                        indexingRules,
                        reductionRules,
                        normRules,
                        signalRules,
                        contractionRules,
                        poolingRules,
                        quantizedRules,
                        recurrentRules,
                        scatterRules,
                        attentionRules,
                        attentionGraphRules,
                        squeezeExciteRules,
                        spatialRules,
                        resampleRules,
                        einsumRules,
                        stateRules,
                        smallTypeRules,
                        microsoftRules,
                        microsoftQuantizedRules,
                        regionRules,
                        microsoftByteRules,
                        microsoftDecoderRules,
                        microsoftStandardRules,
                        quantizedGraphRules,
                        controlFlowRules,
                        knownValueRules,
                        oldRules,
                        sequenceRules})
      for (Rule &rule : family())
        all.push_back(std::move(rule));
    return all;
  }();
  return kRules;
}

const Rule *findRule(std::string_view op) {
  for (const Rule &rule : rules())
    if (rule.op == op)
      return &rule;
  return nullptr;
}

} // namespace smelt::generate
