// Ops of the domain com.microsoft that decoders of text are made of: attention after a cache, and mixtures of experts.
#include "tests/generate/operands.h"
#include "tests/generate/rules.h"

#include <algorithm>

namespace smelt::generate {

namespace {

using Drawn = std::optional<Value>;
constexpr Bounds kUnit{-1, 1};

/// [batch, steps, hidden] of few elements; steps and hidden are numbers.
bool isOfSteps(const Value &operand) {
  const Shape &shape = operand.shape;
  return (operand.type == Wire::FLOAT || operand.type == Wire::FLOAT16) && shape.size() == 3 &&
         !shape[0].isDerived() && shape[0].smallest() > 0 && shape[1].isConstant() &&
         shape[1].values[0] > 0 && shape[2].isConstant() && shape[2].values[0] > 0 &&
         shape[2].values[0] <= 512 && largestCount(shape) <= 1 << 13;
}

struct Heads {
  int64_t query, shared, size;
};

/// Of queries of `hidden` elements, or of `packed` ones with keys and values behind them.
Heads drawHeads(Drawing &draw, int64_t hidden, bool isPacked) {
  std::vector<Heads> fitting;
  for (auto [query, shared] : {std::pair<int64_t, int64_t>(1, 1), {2, 1}, {2, 2}, {4, 2}, {8, 1}})
    if (int64_t parts = isPacked ? query + 2 * shared : query; hidden % parts == 0)
      fitting.push_back({query, shared, hidden / parts});
  return fitting.empty() ? Heads{0, 0, 0} : draw.pick(fitting);
}

/// What the cache of a GroupQueryAttention holds, and how many tokens there are then.
struct Cache {
  int64_t held = 0, total = 0;

  int64_t length() const { return std::max(held, total); }
};

/// Tokens before the new ones differ from sequence to sequence.
Cache drawCache(Drawing &draw, int64_t steps) {
  Cache cache{draw.between(1, 20), 0};
  cache.total = steps + draw.between(0, cache.held);
  return cache;
}

/// Turning needs tables with a row for each position, and the positions where they are not those of the tokens.
void addTurns(Drawing &draw, std::vector<Value> &inputs, Attributes &attributes, const Heads &heads,
              int64_t total) {
  int64_t rows = total + draw.between(0, 3);
  const Value query = inputs[0];
  Shape table{Size::of(rows), Size::of(heads.size / 2)};
  inputs.push_back(draw.leaf(query.type, table, kUnit));
  inputs.push_back(draw.leaf(query.type, table, kUnit));
  if (draw.chance(0.3))
    inputs.push_back(draw.leaf(Wire::INT64, {query.shape[0], query.shape[1]},
                               {0, static_cast<double>(rows - 1)}));
  attributes.add("do_rotary", 1).add("rotary_interleaved", draw.between(0, 1));
}

void addOptions(Drawing &draw, Attributes &attributes, const Heads &heads) {
  attributes.add("num_heads", heads.query).add("kv_num_heads", heads.shared);
  if (draw.chance(0.3))
    attributes.add("scale", 0.25f);
  if (draw.chance(0.2))
    attributes.add("softcap", 8.0f);
  if (draw.chance(0.3))
    attributes.add("local_window_size", draw.between(1, 9));
}

/// Queries, keys and values, or all in one, behind which caches may lie.
std::vector<Value> drawStates(Drawing &draw, const Value &operand, const Heads &heads,
                              bool isPacked, const Shape &held) {
  Shape narrow = operand.shape;
  narrow[2] = Size::of(heads.shared * heads.size);
  std::vector<Value> inputs{draw.tamed(operand, 4)};
  for (int part = 0; part < 2; ++part)
    inputs.push_back(isPacked ? Drawing::omitted()
                              : generate::operand(draw, operand.type, narrow, kUnit));
  for (int part = 0; part < 2; ++part)
    inputs.push_back(held[2].is(0) ? Drawing::omitted() : draw.input(operand.type, held, kUnit));
  return inputs;
}

/// Behind tables and positions, which may be omitted.
void addBias(Drawing &draw, std::vector<Value> &inputs, const Heads &heads, int64_t total) {
  constexpr size_t kBias = 10;
  const Value query = inputs[0];
  inputs.resize(kBias);
  inputs.push_back(
      draw.leaf(query.type,
                {draw.chance(0.5) ? query.shape[0] : Size::of(1),
                 Size::of(draw.chance(0.5) ? heads.query : 1), query.shape[1], Size::of(total)},
                {-3, 3}));
}

/// The operand is the queries, or queries, keys and values in one.
Drawn drawGroupQuery(Drawing &draw, const Value &operand) {
  if (!isOfSteps(operand))
    return std::nullopt;
  bool isPacked = draw.chance(0.3);
  int64_t steps = operand.shape[1].values[0];
  Heads heads = drawHeads(draw, operand.shape[2].values[0], isPacked);
  if (heads.query == 0)
    return std::nullopt;
  Cache cache = draw.chance(0.6) ? drawCache(draw, steps) : Cache{0, steps};
  Shape held{operand.shape[0], Size::of(heads.shared), Size::of(cache.held), Size::of(heads.size)};
  std::vector<Value> inputs = drawStates(draw, operand, heads, isPacked, held);
  bool isRagged = cache.held > 0 && draw.chance(0.5);
  double most = static_cast<double>(cache.total - 1), // `seqlens_k` counts all tokens but the last
      fewest = isRagged ? static_cast<double>(steps - 1) : most;
  inputs.push_back(draw.leaf(Wire::INT32, {operand.shape[0]}, {fewest, most}));
  inputs.push_back(draw.scalar(Wire::INT32, static_cast<double>(cache.total)));
  Attributes attributes;
  addOptions(draw, attributes, heads);
  if (heads.size % 2 == 0 && draw.chance(0.5))
    addTurns(draw, inputs, attributes, heads, cache.total);
  if (cache.total >= cache.held && draw.chance(0.3))
    addBias(draw, inputs, heads, cache.total);
  Value output = operand, present = operand;
  output.shape[2] = Size::of(heads.query * heads.size), present.shape = held;
  present.shape[2] = Size::of(cache.length());
  double largest = 2 * inputs[0].bounds.magnitude() + 2; // turned, of the packed ones
  output.bounds = present.bounds = {-largest, largest};
  // What lies behind a sequence's last token is defined nowhere.
  bool isDefined = !isRagged && cache.total >= cache.held;
  return draw.nodes("com.microsoft.GroupQueryAttention", inputs, attributes,
                    {output, present, present},
                    isDefined ? 3 : 1)[isDefined && draw.chance(0.2) ? 1 : 0];
}

/// Hides some tokens, never the last.
Value drawPadding(Drawing &draw, const Size &batch, int64_t tokens) {
  if (!batch.isConstant())
    return draw.input(Wire::INT32, {batch, Size::of(tokens)}, {1, 1});
  std::vector<double> keep;
  for (int64_t row = 0; row < batch.values[0]; ++row)
    for (int64_t token = 0; token < tokens; ++token)
      keep.push_back(token + 1 == tokens || draw.chance(0.7) ? 1 : 0);
  return draw.tensor(Wire::INT32, {batch, Size::of(tokens)}, keep);
}

/// The first step of the operand.
Value firstToken(Drawing &draw, const Value &operand) {
  if (operand.shape[1].is(1))
    return operand;
  Shape token = operand.shape;
  token[1] = Size::of(1);
  return draw.node("Slice", {operand, draw.integers({0}), draw.integers({1}), draw.integers({1})},
                   {}, operand.type, token, operand.bounds);
}

/// The first step of the operand is the new token; it attends to itself and a cache, or to a cache of another sequence.
Drawn drawDecoderAttention(Drawing &draw, const Value &operand) {
  constexpr size_t kProjectionBias = 10; // behind three inputs of searches over beams
  if (!isOfSteps(operand))
    return std::nullopt;
  int64_t hidden = operand.shape[2].values[0], held = draw.between(1, 20);
  Heads heads = drawHeads(draw, hidden, false);
  Value query = draw.tamed(firstToken(draw, operand), 4), output = query, present = query;
  bool isCross = draw.chance(0.3);
  int64_t tokens = isCross ? held : held + 1;
  Shape cache{operand.shape[0], Size::of(heads.query), Size::of(held), Size::of(heads.size)};
  auto past = [&] { return draw.input(operand.type, cache, kUnit); };
  auto fresh = [&] { return generate::operand(draw, operand.type, query.shape, kUnit); };
  std::vector<Value> inputs{query, isCross ? past() : fresh(), isCross ? past() : fresh()};
  inputs.push_back(draw.chance(0.5) ? drawPadding(draw, operand.shape[0], tokens)
                                    : Drawing::omitted());
  Shape scores{Size::of(1), Size::of(heads.query), Size::of(1), Size::of(tokens)};
  inputs.push_back(draw.chance(0.4) ? draw.leaf(operand.type, scores, {-3, 3})
                                    : Drawing::omitted());
  Attributes attributes;
  attributes.add("num_heads", heads.query);
  output.bounds = present.bounds = {-2, 2};
  const std::string op = "com.microsoft.DecoderMaskedMultiHeadAttention";
  if (isCross)
    return draw.nodes(op, inputs, attributes, {output})[0];
  inputs.insert(inputs.end(), {past(), past()});
  if (draw.chance(0.5)) {
    inputs.resize(kProjectionBias);
    inputs.push_back(draw.leaf(operand.type, {Size::of(3 * hidden)}, kUnit));
  }
  present.shape = cache, present.shape[2] = Size::of(tokens);
  return draw.nodes(op, inputs, attributes, {output, present, present})[draw.chance(0.7) ? 0 : 1];
}

/// How an expert's first product is activated, and how many columns it has for each that is left: of two, one is a gate.
int64_t drawExpertActivation(Drawing &draw, Attributes &attributes) {
  static const std::vector<const char *> kNames = {"relu", "gelu", "silu", "identity", "swiglu"};
  const char *name = draw.pick(kNames);
  attributes.add("activation_type", name);
  bool isGated = std::string_view(name) == "swiglu";
  if (isGated)
    attributes.add("swiglu_fusion", draw.between(1, 2))
        .add("swiglu_limit", 7.0f)
        .add("activation_alpha", 1.5f)
        .add("activation_beta", 1.0f);
  return isGated ? 2 : 1;
}

/// The operand is the tokens.
Drawn drawExperts(Drawing &draw, const Value &operand) {
  size_t rank = operand.shape.size();
  bool isTaken = (operand.type == Wire::FLOAT || operand.type == Wire::FLOAT16) &&
                 (rank == 2 || rank == 3) && !hasDerived(operand.shape) &&
                 operand.shape.back().isConstant() && operand.shape.back().values[0] <= 129 &&
                 largestCount(operand.shape) <= 1 << 12 && largestCount(operand.shape) > 0;
  Size rows = isTaken ? draw.product({operand.shape.begin(), operand.shape.end() - 1}) : Size();
  if (!isTaken || rows.isDerived())
    return std::nullopt;
  Attributes attributes;
  int64_t experts = draw.between(2, 4), wide = drawExpertActivation(draw, attributes);
  attributes.add("k", draw.between(1, experts))
      .add("normalize_routing_weights", draw.between(0, 1));
  Size count = Size::of(experts), hidden = operand.shape.back(), inner = draw.drawConstant(33),
       first = Size::of(inner.values[0] * wide);
  auto weight = [&](const Size &out, const Size &in) {
    double most = 1 / static_cast<double>(in.values[0]); // no sum is larger than its terms
    return draw.leaf(operand.type, {count, out, in}, {-most, most});
  };
  auto bias = [&](const Size &out) {
    return draw.chance(0.5) ? draw.leaf(operand.type, {count, out}, kUnit) : Drawing::omitted();
  };
  std::vector<Value> inputs{draw.tamed(operand, 4), draw.leaf(operand.type, {rows, count}, {-2, 2}),
                            weight(first, hidden),  bias(first),
                            weight(hidden, inner),  bias(hidden)};
  if (wide == 1 && draw.chance(0.3)) // another product, times the activated one
    inputs.insert(inputs.end(), {weight(inner, hidden), bias(inner)});
  return draw.node("com.microsoft.MoE", inputs, attributes, operand.type, operand.shape, {-64, 64});
}

} // namespace

std::vector<Rule> microsoftDecoderRules() {
  return {{"com.microsoft.DecoderMaskedMultiHeadAttention", 11, drawDecoderAttention},
          {"com.microsoft.GroupQueryAttention", 11, drawGroupQuery},
          {"com.microsoft.MoE", 11, drawExperts}};
}

} // namespace smelt::generate
