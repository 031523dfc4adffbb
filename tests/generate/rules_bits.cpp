// Ops on the bits of integers.
#include "tests/generate/operands.h"
#include "tests/generate/rules.h"

#include <algorithm>
#include <cmath>

namespace smelt::generate {

namespace {

using Drawn = std::optional<Value>;

unsigned widthOf(ElementType type) { return static_cast<unsigned>(elementBytes(type)) * 8; }

/// All values of an integer type.
Bounds rangeByWidth(ElementType type) {
  double end = std::ldexp(1.0, static_cast<int>(widthOf(type)) - (isSigned(type) ? 1 : 0));
  return {isSigned(type) ? -end : 0, end - 1};
}

/// As many bits as the larger operand has.
Bounds combined(ElementType type, Bounds a, Bounds b) {
  double end = std::exp2(std::ceil(std::log2(std::max(a.magnitude(), b.magnitude()) + 1)));
  Bounds whole = rangeByWidth(type);
  return {a.low < 0 || b.low < 0 ? std::max(-end, whole.low) : 0, std::min(end - 1, whole.high)};
}

Drawn drawBitwise(Drawing &draw, const Value &operand, const char *op) {
  if (!isInteger(operand.type))
    return std::nullopt;
  Value right = partner(draw, operand, operand.type, Drawing::usualBounds(operand.type));
  return draw.node(op, {operand, right}, {}, operand.type, *broadcast(operand.shape, right.shape),
                   combined(operand.type, operand.bounds, right.bounds));
}

Drawn drawBitwiseNot(Drawing &draw, const Value &operand) {
  if (!isInteger(operand.type))
    return std::nullopt;
  double end = isSigned(operand.type) ? -1 : rangeByWidth(operand.type).high;
  return draw.node("BitwiseNot", {operand}, {}, operand.type, operand.shape,
                   {end - operand.bounds.high, end - operand.bounds.low});
}

/// By counts up to the width and beyond.
Drawn drawBitShift(Drawing &draw, const Value &operand) {
  if (!isInteger(operand.type) || (isSigned(operand.type) && draw.opset() < 28))
    return std::nullopt;
  double most = draw.chance(0.5) ? 4 : widthOf(operand.type) + 2;
  Value count = partner(draw, operand, operand.type, {isSigned(operand.type) ? -2.0 : 0.0, most});
  bool isLeft = draw.chance(0.5);
  Bounds right = {std::min(operand.bounds.low, 0.0), std::max(operand.bounds.high, 0.0)};
  return draw.node("BitShift", {operand, count},
                   Attributes().add("direction", isLeft ? "LEFT" : "RIGHT"), operand.type,
                   *broadcast(operand.shape, count.shape),
                   isLeft ? rangeByWidth(operand.type) : right);
}

/// To floats only what is small and positive there. From floats nothing: how they were rounded would show.
Drawn drawBitCast(Drawing &draw, const Value &operand) {
  if (draw.opset() < 26 || isFloat(operand.type))
    return std::nullopt;
  bool isSmall = operand.bounds.low >= 0 && operand.bounds.high < 1000;
  std::vector<ElementType> targets;
  for (ElementType type : everyType())
    if (type != operand.type && type != Wire::BOOL && widthOf(type) == widthOf(operand.type) &&
        (isSmall || !isFloat(type)))
      targets.push_back(type);
  ElementType target = draw.pick(targets);
  Bounds whole = isFloat(target) ? Bounds{0, 1} : rangeByWidth(target);
  bool isSame = !isFloat(target) && operand.bounds.low >= 0 && operand.bounds.high <= whole.high;
  return draw.node("BitCast", {operand}, Attributes().add("to", static_cast<int64_t>(target)),
                   target, operand.shape, isSame ? operand.bounds : whole);
}

Rule bitwise(const char *op) {
  return {op, 18,
          [=](Drawing &draw, const Value &operand) { return drawBitwise(draw, operand, op); }};
}

} // namespace

std::vector<Rule> bitRules() {
  return {bitwise("BitwiseAnd"),          bitwise("BitwiseOr"),
          bitwise("BitwiseXor"),          {"BitwiseNot", 18, drawBitwiseNot},
          {"BitShift", 11, drawBitShift}, {"BitCast", 26, drawBitCast}};
}

} // namespace smelt::generate
