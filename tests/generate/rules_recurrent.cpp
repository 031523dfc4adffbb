// Recurrent layers of few steps.
#include "tests/generate/operands.h"
#include "tests/generate/rules.h"

#include <algorithm>

namespace smelt::generate {

namespace {

using Drawn = std::optional<Value>;

struct Kind {
  const char *op;
  int64_t gates;
  bool hasCell;
};

void describe(Drawing &draw, Attributes &attributes, const Kind &kind, int64_t hidden,
              bool isBidirectional) {
  attributes.add("hidden_size", hidden);
  if (isBidirectional)
    attributes.add("direction", "bidirectional");
  else if (draw.chance(0.3))
    attributes.add("direction", "reverse");
  if (std::string_view(kind.op) == "GRU" && draw.chance(0.5))
    attributes.add("linear_before_reset", 1);
  if (kind.hasCell && draw.chance(0.2))
    attributes.add("input_forget", 1);
}

/// The operand is what the steps read, [steps, batch, size], or with the batch first.
Drawn drawRecurrent(Drawing &draw, const Value &operand, const Kind &kind) {
  if (!isFloat(operand.type) || operand.type == Wire::BFLOAT16 || operand.shape.size() != 3 ||
      hasDerived(operand.shape))
    return std::nullopt;
  bool isBatchFirst = draw.opset() >= 14 && draw.chance(0.3);
  const Size &steps = operand.shape[isBatchFirst], &batch = operand.shape[!isBatchFirst],
             &size = operand.shape[2];
  if (!steps.isConstant() || steps.values[0] < 1 || steps.values[0] > 6 || !size.isConstant() ||
      size.values[0] < 1 || size.values[0] > 64 || batch.largest() > 64)
    return std::nullopt;
  bool isBidirectional = draw.chance(0.3);
  int64_t hidden = draw.between(1, 9), directions = isBidirectional ? 2 : 1;
  Attributes attributes;
  describe(draw, attributes, kind, hidden, isBidirectional);
  if (isBatchFirst)
    attributes.add("layout", 1);
  auto weights = [&](const std::vector<int64_t> &shape) {
    Shape sizes;
    for (int64_t extent : shape)
      sizes.push_back(Size::of(extent));
    return draw.leaf(operand.type, sizes, {-0.5, 0.5});
  };
  Size count = Size::of(directions), width = Size::of(hidden);
  Shape state = isBatchFirst ? Shape{batch, count, width} : Shape{count, batch, width};
  std::vector<Value> inputs{draw.tamed(operand, 2),
                            weights({directions, kind.gates * hidden, size.values[0]}),
                            weights({directions, kind.gates * hidden, hidden})};
  inputs.push_back(draw.chance(0.6) ? weights({directions, 2 * kind.gates * hidden})
                                    : Drawing::omitted());
  bool hasLengths = draw.chance(0.3);
  inputs.push_back(hasLengths
                       ? draw.leaf(Wire::INT32, {batch}, {0, static_cast<double>(steps.values[0])})
                       : Drawing::omitted());
  if (draw.chance(0.5)) {
    inputs.push_back(draw.leaf(operand.type, state, {-1, 1}));
    if (kind.hasCell)
      inputs.push_back(draw.leaf(operand.type, state, {-1, 1}));
  }
  Shape all = isBatchFirst ? Shape{batch, steps, count, width} : Shape{steps, count, batch, width};
  Value outputs = operand, last = operand;
  outputs.shape = all, last.shape = state;
  outputs.bounds = last.bounds = {-1, 1};
  return draw.nodes(kind.op, inputs, attributes, {outputs, last})[draw.chance(0.5) ? 1 : 0];
}

template <const Kind &kind> Drawn drawKind(Drawing &draw, const Value &operand) {
  return drawRecurrent(draw, operand, kind);
}

constexpr Kind kRnn{"RNN", 1, false}, kGru{"GRU", 3, false}, kLstm{"LSTM", 4, true};

} // namespace

std::vector<Rule> recurrentRules() {
  return {{"GRU", 7, drawKind<kGru>}, {"LSTM", 7, drawKind<kLstm>}, {"RNN", 7, drawKind<kRnn>}};
}

} // namespace smelt::generate
