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
  return draw.node("Attention", inputs, attributes, operand.type, shaped(rows, false),
                   value.bounds);
}

} // namespace

std::vector<Rule> attentionRules() { return {{"Attention", 23, drawAttention}}; }

const std::vector<Rule> &rules() {
  static const std::vector<Rule> kRules = [] {
    std::vector<Rule> all;
    for (auto family :
         {elementwiseRules, viewRules, indexingRules, reductionRules, contractionRules,
          quantizedRules, attentionRules, spatialRules, resampleRules, einsumRules})
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
