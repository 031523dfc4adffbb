// Activations with parameters, and those in pieces.
#include "tests/generate/operands.h"
#include "tests/generate/rules.h"

#include <algorithm>
#include <cmath>

namespace smelt::generate {

namespace {

/// An activation of one operand. Bounds are those for the standard parameters and the other ones.
struct Activation {
  std::string_view op;
  int64_t since;
  double limit;                                           ///< of the operand's magnitude
  std::vector<std::pair<const char *, float>> parameters; ///< other than the standard ones
  Bounds (*bounds)(Bounds);
};

/// Between a constant and a multiple of what is positive.
template <int low, int slope> Bounds bent(Bounds in) {
  return {low, slope * std::max(in.high, 0.0)};
}
Bounds leaky(Bounds in) { return {std::min(in.low, 0.0), std::max(in.high, 0.0)}; }
Bounds ofUnit(Bounds) { return {0, 1}; }
Bounds ofSign(Bounds) { return {-1, 1}; }

const std::vector<Activation> kActivations = {
    {"Celu", 12, 1e3, {{"alpha", 1.5f}}, bent<-2, 1>},
    {"Elu", 6, 1e3, {{"alpha", 1.5f}}, bent<-2, 1>},
    {"HardSigmoid", 6, 1e4, {{"alpha", 0.3f}, {"beta", 0.25f}}, ofUnit},
    {"HardSwish", 14, 1e4, {}, bent<-1, 1>},
    {"LeakyRelu", 6, 1e4, {{"alpha", 0.1f}}, leaky},
    {"Mish", 18, 1e3, {}, bent<-1, 1>},
    {"Selu", 6, 1e3, {{"alpha", 1.5f}, {"gamma", 1.25f}}, bent<-3, 2>},
    {"Softsign", 1, 1e4, {}, ofSign},
    {"ThresholdedRelu", 10, 1e4, {{"alpha", 0.5f}}, bent<0, 1>},
};

/// Opset 22 brought bfloat16 to most.
bool takes(Drawing &draw, const Value &operand, int64_t bfloatSince) {
  return isFloat(operand.type) && (operand.type != Wire::BFLOAT16 || draw.opset() >= bfloatSince);
}

std::optional<Value> drawActivation(Drawing &draw, const Value &operand,
                                    const Activation &activation) {
  bool isCelu = activation.op == "Celu";
  if (!takes(draw, operand, activation.op == "LeakyRelu" ? 16 : 22) ||
      (isCelu && draw.opset() < 28 && operand.type != Wire::FLOAT))
    return std::nullopt;
  Attributes attributes;
  for (const auto &[name, value] : activation.parameters)
    if (draw.chance(0.5))
      attributes.add(name, value);
  Value input = draw.tamed(operand, activation.limit);
  return draw.node(std::string(activation.op), {input}, attributes, operand.type, operand.shape,
                   activation.bounds(input.bounds));
}

/// The slope has some of the operand's axes, or ones.
std::optional<Value> drawPRelu(Drawing &draw, const Value &operand) {
  bool isWhole = operand.type == Wire::INT32 || operand.type == Wire::INT64;
  if (!isWhole && !takes(draw, operand, 16))
    return std::nullopt;
  size_t dropped = static_cast<size_t>(draw.between(0, static_cast<int64_t>(operand.shape.size())));
  Shape shape(operand.shape.begin() + static_cast<std::ptrdiff_t>(dropped), operand.shape.end());
  for (Size &size : shape)
    if (size.isDerived() || draw.chance(0.3))
      size = Size::of(1);
  Value input = draw.tamed(operand, 1e3);
  Value slope = draw.leaf(operand.type, shape, isWhole ? Bounds{-3, 3} : Bounds{-0.5, 0.5});
  double top = input.bounds.magnitude() * (isWhole ? 3 : 1);
  return draw.node("PRelu", {input, slope}, {}, operand.type, operand.shape, {-top, top});
}

std::optional<Value> drawShrink(Drawing &draw, const Value &operand) {
  if (operand.type == Wire::BOOL || operand.type == Wire::BFLOAT16)
    return std::nullopt;
  double limit = std::min(safeMagnitude(operand.type) - 2, 1e4);
  Value input = draw.tamed(operand, limit);
  Attributes attributes;
  if (draw.chance(0.7))
    attributes.add("lambd", 1.0f);
  if (draw.chance(0.7))
    attributes.add("bias", 1.0f);
  double top = input.bounds.magnitude();
  return draw.node("Shrink", {input}, attributes, operand.type, operand.shape,
                   {operand.type == Wire::UINT8 ? 0 : -top, top});
}

std::optional<Value> drawHardmax(Drawing &draw, const Value &operand) {
  if (!takes(draw, operand, 13) || operand.shape.empty())
    return std::nullopt;
  size_t axis = drawAxis(draw, operand.shape);
  if (operand.shape[axis].smallest() == 0)
    return std::nullopt;
  return draw.node("Hardmax", {operand},
                   Attributes().add("axis", spelledAxis(draw, axis, operand.shape.size())),
                   operand.type, operand.shape, {0, 1});
}

/// The operand is the gate, or what it lets pass.
std::optional<Value> drawSwiGlu(Drawing &draw, const Value &operand) {
  if (!isFloat(operand.type) || hasDerived(operand.shape))
    return std::nullopt;
  Attributes attributes;
  if (draw.chance(0.5))
    attributes.add("alpha", 1.5f);
  Value input = draw.tamed(operand, 100), other = draw.leaf(operand.type, operand.shape, {-2, 2});
  bool swaps = draw.chance(0.5);
  double most = 2 * input.bounds.magnitude() + 1;
  return draw.node("SwiGLU", {swaps ? other : input, swaps ? input : other}, attributes,
                   operand.type, operand.shape, {-most, most});
}

} // namespace

std::vector<Rule> activationRules() {
  std::vector<Rule> rules = {{"SwiGLU", 28, drawSwiGlu},
                             {"Hardmax", 11, drawHardmax},
                             {"PRelu", 9, drawPRelu},
                             {"Shrink", 9, drawShrink}};
  for (const Activation &activation : kActivations)
    rules.push_back(
        {activation.op, activation.since, [&activation](Drawing &draw, const Value &operand) {
           return drawActivation(draw, operand, activation);
         }});
  return rules;
}

} // namespace smelt::generate
