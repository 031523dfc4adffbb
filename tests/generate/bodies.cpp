#include "tests/generate/bodies.h"

#include "tests/generate/rules.h"

#include <algorithm>

namespace smelt::generate {

namespace {

constexpr double kMostTerm = 1000; // a sum of two fits every type that has sums here

std::vector<std::string_view> namesOf(std::initializer_list<std::vector<Rule> (*)()> families) {
  std::vector<std::string_view> ops{"If", "If", "Loop", "Loop"}; // bodies within bodies
  for (auto family : families)
    for (const Rule &rule : family())
      ops.push_back(rule.op);
  return ops;
}

const std::vector<std::string_view> &opsOf(bool keepShape) {
  static const std::vector<std::string_view> kSameShape =
      namesOf({elementwiseRules, activationRules});
  static const std::vector<std::string_view> kAnyShape =
      namesOf({elementwiseRules, activationRules, viewRules, reductionRules});
  return keepShape ? kSameShape : kAnyShape;
}

} // namespace

std::vector<Value> visibleWith(Drawing &draw, const Value &operand) {
  std::vector<Value> visible{operand};
  const std::vector<Value> outer = draw.available();
  for (int i = 0; i < 2 && !outer.empty(); ++i)
    visible.push_back(draw.pick(outer));
  return visible;
}

Value drawChange(Drawing &draw, const Value &value, Keeps keeps) {
  constexpr int64_t kMostElements = 1 << 15;
  Value result = value;
  for (int64_t i = draw.between(1, 3); i > 0; --i) {
    const Rule &rule = *findRule(draw.pick(opsOf(keeps == Keeps::typeAndShape)));
    auto next = rule.isIn(draw.opset()) ? rule.draw(draw, result) : std::nullopt;
    bool fits = next && largestCount(next->shape) <= kMostElements,
         isTyped = fits && next->type == value.type;
    if (keeps == Keeps::nothing ? fits
        : keeps == Keeps::type  ? isTyped
                                : isTyped && next->shape == value.shape)
      result = *next;
  }
  return result.name == value.name ? identity(draw, value) : result;
}

Value identity(Drawing &draw, const Value &value) {
  return draw.node("Identity", {value}, {}, value.type, value.shape, value.bounds);
}

bool hasSums(ElementType type) {
  return isFloat(type) || (isInteger(type) && elementBytes(type) >= 4);
}

Value addNumber(Drawing &draw, const Value &value, const Value &number) {
  Value near = draw.tamed(value, kMostTerm), term = number;
  if (number.type != value.type)
    term = draw.node("Cast", {number}, Attributes().add("to", static_cast<int64_t>(value.type)),
                     value.type, {}, number.bounds);
  return draw.node("Add", {near, term}, {}, value.type, value.shape,
                   {near.bounds.low + term.bounds.low, near.bounds.high + term.bounds.high});
}

Value join(Drawing &draw, const Value &one, const Value &other) {
  if (!hasSums(one.type))
    return draw.node(
        "Where", {draw.leaf(Wire::BOOL, {}), one, other}, {}, one.type, one.shape,
        {std::min(one.bounds.low, other.bounds.low), std::max(one.bounds.high, other.bounds.high)});
  Value left = draw.tamed(one, kMostTerm), right = draw.tamed(other, kMostTerm);
  return draw.node("Add", {left, right}, {}, one.type, one.shape,
                   {left.bounds.low + right.bounds.low, left.bounds.high + right.bounds.high});
}

} // namespace smelt::generate
