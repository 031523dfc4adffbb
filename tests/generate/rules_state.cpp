// Ops that carry a state along a sequence.
#include "tests/generate/operands.h"
#include "tests/generate/rules.h"

namespace smelt::generate {

namespace {

using Drawn = std::optional<Value>;

/// [batch, a, b] of a float that the two ops take.
bool isSequence(const Value &operand) {
  return isFloat(operand.type) && operand.type != Wire::DOUBLE && operand.type != Wire::BFLOAT16 &&
         operand.shape.size() == 3 && !hasDerived(operand.shape) &&
         operand.shape[0].largest() <= 64;
}

/// The operand is the signal, [batch, channels, length].
Drawn drawCausalConv(Drawing &draw, const Value &operand) {
  if (!isSequence(operand) || !operand.shape[1].isConstant())
    return std::nullopt;
  int64_t taps = draw.between(1, 5);
  Shape state = operand.shape;
  state[2] = Size::of(taps - 1);
  std::vector<Value> inputs{
      draw.tamed(operand, 2),
      draw.leaf(operand.type, {operand.shape[1], Size::of(1), Size::of(taps)}, {-0.5, 0.5})};
  inputs.push_back(draw.chance(0.5) ? draw.leaf(operand.type, {operand.shape[1]}, {-0.5, 0.5})
                                    : Drawing::omitted());
  if (taps > 1 && draw.chance(0.5))
    inputs.push_back(draw.leaf(operand.type, state, {-2, 2}));
  Attributes attributes;
  if (draw.chance(0.5))
    attributes.add("activation", draw.chance(0.5) ? "silu" : "swish");
  Value output = operand, last = operand;
  last.shape = state;
  last.bounds = {-2, 2};
  output.bounds = {-6, 6}; // five taps of at most 1 each, and the bias
  std::vector<Value> drawn = draw.nodes("CausalConvWithState", inputs, attributes, {output, last});
  return drawn[taps > 1 && draw.chance(0.3) ? 1 : 0];
}

/// The operand is the queries of all heads, [batch, length, heads * size].
Drawn drawLinearAttention(Drawing &draw, const Value &operand) {
  if (!isSequence(operand) || !operand.shape[1].isConstant() || !operand.shape[2].isConstant())
    return std::nullopt;
  int64_t length = operand.shape[1].values[0], width = operand.shape[2].values[0];
  int64_t shared = draw.between(1, 2), groups = draw.between(1, 2), heads = shared * groups;
  if (length < 1 || length > 6 || width < 1 || width > 64 || width % heads != 0)
    return std::nullopt;
  int64_t keySize = width / heads, valueSize = draw.between(1, 6);
  auto ofSteps = [&](int64_t size, Bounds bounds) {
    return draw.leaf(operand.type, {operand.shape[0], operand.shape[1], Size::of(size)}, bounds);
  };
  bool decays = draw.chance(0.5), corrects = draw.chance(0.5);
  std::vector<Value> inputs{draw.tamed(operand, 1), ofSteps(groups * keySize, {-0.5, 0.5}),
                            ofSteps(groups * valueSize, {-1, 1})};
  Shape state{operand.shape[0], Size::of(groups), Size::of(keySize), Size::of(valueSize)};
  inputs.push_back(draw.chance(0.5) ? draw.leaf(operand.type, state, {-1, 1}) : Drawing::omitted());
  inputs.push_back(decays ? ofSteps(draw.chance(0.5) ? groups : groups * keySize, {-1, 0})
                          : Drawing::omitted());
  if (corrects)
    inputs.push_back(ofSteps(draw.chance(0.5) ? 1 : groups, {0, 0.1}));
  Attributes attributes;
  attributes.add("q_num_heads", heads).add("kv_num_heads", groups);
  attributes.add("update_rule",
                 corrects ? (decays ? "gated_delta" : "delta") : (decays ? "gated" : "linear"));
  Value output = operand, last = operand;
  output.shape = {operand.shape[0], operand.shape[1], Size::of(heads * valueSize)};
  last.shape = state;
  last.bounds = {-8, 8};       // a start of 1 and six steps of 0.5, grown by what corrects
  output.bounds = {-512, 512}; // 64 of those times queries of 1
  return draw.nodes("LinearAttention", inputs, attributes,
                    {output, last})[draw.chance(0.7) ? 0 : 1];
}

} // namespace

std::vector<Rule> stateRules() {
  return {{"CausalConvWithState", 27, drawCausalConv},
          {"LinearAttention", 27, drawLinearAttention}};
}

} // namespace smelt::generate
