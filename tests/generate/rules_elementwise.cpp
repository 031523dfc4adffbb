// Elementwise ops: arithmetic, functions, comparisons, logic, selection, conversion.
#include "tests/generate/operands.h"
#include "tests/generate/rules.h"

#include <algorithm>
#include <cmath>

namespace smelt::generate {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What a function takes and gives.
struct Function {
  std::string_view op;
  int64_t since;
  bool integers; ///< also integers, signed ones only where `negatives`
  double limit;  ///< of the operand's magnitude
  double least;  ///< of the operand; minus infinity where it may be anything
  Bounds (*bounds)(Bounds);
};

Bounds unit(Bounds) { return {-1, 1}; }
Bounds probability(Bounds) { return {0, 1}; }
Bounds magnitudes(Bounds in) { return {0, in.magnitude()}; }
Bounds mirrored(Bounds in) { return {-in.high, -in.low}; }
Bounds rectified(Bounds in) { return {std::max(in.low, 0.0), std::max(in.high, 0.0)}; }
Bounds whole(Bounds in) { return {std::floor(in.low), std::ceil(in.high)}; }
Bounds gelu(Bounds in) { return {-0.3, std::max(in.high, 0.0)}; }
Bounds quarterTurns(Bounds) { return {-1.6, 1.6}; }
Bounds halfTurn(Bounds) { return {0, 3.2}; }
Bounds softplus(Bounds in) { return {0, std::max(in.high, 0.0) + 0.7}; }

const Function kFunctions[] = {
    {"Abs", 6, true, kInfinity, -kInfinity, magnitudes},
    {"Neg", 6, true, kInfinity, -kInfinity, mirrored},
    {"Sign", 9, true, kInfinity, -kInfinity, unit},
    {"Relu", 14, true, kInfinity, -kInfinity, rectified},
    {"Exp", 6, false, 5, -kInfinity,
     [](Bounds in) { return Bounds{std::exp(in.low), std::exp(in.high)}; }},
    {"Log", 6, false, 1e4, 0.25,
     [](Bounds in) { return Bounds{std::log(in.low), std::log(in.high)}; }},
    {"Sqrt", 6, false, 1e4, 0.05,
     [](Bounds in) { return Bounds{std::sqrt(in.low), std::sqrt(in.high)}; }},
    {"Reciprocal", 6, false, 1e3, 0.25, [](Bounds in) { return Bounds{1 / in.high, 1 / in.low}; }},
    {"Sin", 7, false, 20, -kInfinity, unit},
    {"Cos", 7, false, 20, -kInfinity, unit},
    {"Tan", 7, false, 1.2, -kInfinity,
     [](Bounds in) { return Bounds{std::tan(in.low), std::tan(in.high)}; }},
    {"Asin", 7, false, 0.9, -kInfinity, quarterTurns},
    {"Acos", 7, false, 0.9, -kInfinity, halfTurn},
    {"Atan", 7, false, kInfinity, -kInfinity, quarterTurns},
    {"Sinh", 9, false, 5, -kInfinity,
     [](Bounds in) { return Bounds{std::sinh(in.low), std::sinh(in.high)}; }},
    {"Cosh", 9, false, 5, -kInfinity,
     [](Bounds in) { return Bounds{1, std::cosh(in.magnitude())}; }},
    {"Tanh", 6, false, kInfinity, -kInfinity, unit},
    {"Asinh", 9, false, 1e4, -kInfinity,
     [](Bounds in) { return Bounds{std::asinh(in.low), std::asinh(in.high)}; }},
    {"Acosh", 9, false, 1e4, 1.25, [](Bounds in) { return Bounds{0, std::acosh(in.high)}; }},
    {"Atanh", 9, false, 0.9, -kInfinity, quarterTurns},
    {"Erf", 9, false, kInfinity, -kInfinity, unit},
    {"Sigmoid", 6, false, kInfinity, -kInfinity, probability},
    {"Softplus", 1, false, 1e3, -kInfinity, softplus},
    {"Floor", 6, false, 1e4, -kInfinity, whole},
    {"Ceil", 6, false, 1e4, -kInfinity, whole},
    {"Round", 11, false, 1e4, -kInfinity, whole},
};

std::optional<Value> drawFunction(Drawing &draw, const Value &operand, const Function &function) {
  bool taken = isFloat(operand.type) ||
               (function.integers && isInteger(operand.type) &&
                (isSigned(operand.type) || function.op == "Abs" || function.op == "Sign"));
  if (!taken)
    return std::nullopt;
  Value input = draw.tamed(operand, function.limit);
  if (std::isfinite(function.least))
    input = draw.positive(input, function.least);
  return draw.node(std::string(function.op), {input}, {}, operand.type, operand.shape,
                   function.bounds(input.bounds));
}

std::optional<Value> drawGelu(Drawing &draw, const Value &operand) {
  if (!isFloat(operand.type))
    return std::nullopt;
  Attributes attributes;
  if (draw.chance(0.5))
    attributes.add("approximate", draw.chance(0.7) ? "tanh" : "none");
  return draw.node("Gelu", {operand}, attributes, operand.type, operand.shape,
                   gelu(operand.bounds));
}

std::optional<Value> drawSwish(Drawing &draw, const Value &operand) {
  if (!isFloat(operand.type))
    return std::nullopt;
  Attributes attributes;
  if (draw.chance(0.5))
    attributes.add("alpha", 1.5f);
  return draw.node("Swish", {operand}, attributes, operand.type, operand.shape,
                   gelu(operand.bounds));
}

Bounds hull(std::initializer_list<double> numbers) {
  return {std::min(numbers), std::max(numbers)};
}

Bounds sum(Bounds a, Bounds b) { return {a.low + b.low, a.high + b.high}; }
Bounds difference(Bounds a, Bounds b) { return {a.low - b.high, a.high - b.low}; }
Bounds product(Bounds a, Bounds b) {
  return hull({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
}
Bounds smaller(Bounds a, Bounds b) { return {std::min(a.low, b.low), std::min(a.high, b.high)}; }
Bounds larger(Bounds a, Bounds b) { return {std::max(a.low, b.low), std::max(a.high, b.high)}; }

/// `bounds`, or all that the type holds where an integer wraps around.
Bounds wrapped(ElementType type, Bounds bounds) {
  double limit = safeMagnitude(type);
  bool fits = bounds.magnitude() <= limit && (isSigned(type) || bounds.low >= 0);
  if (fits || !isInteger(type))
    return bounds;
  return {isSigned(type) ? -limit - 1 : 0, limit};
}

using CombineBounds = Bounds (*)(Bounds, Bounds);

/// The operand comes first or second.
std::optional<Value> drawBinary(Drawing &draw, const Value &operand, const char *op,
                                CombineBounds combine) {
  if (operand.type == Wire::BOOL || (!isFloat(operand.type) && draw.opset() < 14))
    return std::nullopt;
  double limit = isFloat(operand.type) ? 100 : std::min(safeMagnitude(operand.type) + 1, 1e5);
  Value left = draw.tamed(operand, limit);
  Bounds usual = Drawing::usualBounds(operand.type);
  if (draw.chance(0.3))
    usual = {usual.low, std::max(left.bounds.high, usual.high)};
  Value right = partner(draw, left, operand.type, usual);
  if (draw.chance(0.5))
    std::swap(left, right);
  return draw.node(op, {left, right}, {}, operand.type, *broadcast(left.shape, right.shape),
                   wrapped(operand.type, combine(left.bounds, right.bounds)));
}

std::optional<Value> drawDiv(Drawing &draw, const Value &operand) {
  if (operand.type == Wire::BOOL || (!isFloat(operand.type) && draw.opset() < 14))
    return std::nullopt;
  Value left = draw.tamed(operand, 1e4);
  bool isNegative = isSigned(operand.type) && draw.chance(0.3);
  double least = isFloat(operand.type) ? 0.5 : 1;
  Bounds bounds = isNegative ? Bounds{-9, -least} : Bounds{least, 9};
  Value right = partner(draw, left, operand.type, bounds);
  if (isFloat(operand.type) && draw.chance(0.3)) { // the operand divides
    left = partner(draw, operand, operand.type, Drawing::usualBounds(operand.type));
    right = draw.positive(draw.tamed(operand, 100), 0.5);
  }
  Bounds inverse = isFloat(operand.type) ? hull({1 / right.bounds.low, 1 / right.bounds.high})
                                         : Bounds{isNegative ? -1.0 : 0.0, isNegative ? 0.0 : 1.0};
  return draw.node("Div", {left, right}, {}, operand.type, *broadcast(left.shape, right.shape),
                   wrapped(operand.type, product(left.bounds, inverse)));
}

std::optional<Value> drawMod(Drawing &draw, const Value &operand) {
  if (operand.type == Wire::BOOL || operand.type == Wire::BFLOAT16)
    return std::nullopt;
  bool fmod = isFloat(operand.type) || draw.chance(0.3);
  Bounds bounds = isSigned(operand.type) && draw.chance(0.3) ? Bounds{-9, -1} : Bounds{1, 9};
  Value left = draw.tamed(operand, 1e4), right = partner(draw, left, operand.type, bounds);
  Attributes attributes;
  if (fmod)
    attributes.add("fmod", 1);
  return draw.node("Mod", {left, right}, attributes, operand.type,
                   *broadcast(left.shape, right.shape), {isSigned(operand.type) ? -9.0 : 0.0, 9});
}

std::optional<Value> drawPow(Drawing &draw, const Value &operand) {
  bool taken = isFloat(operand.type) || operand.type == Wire::INT32 || operand.type == Wire::INT64;
  if (!taken || (operand.type == Wire::BFLOAT16 && draw.opset() < 13) || draw.opset() < 12)
    return std::nullopt;
  if (!isFloat(operand.type) || draw.chance(0.5)) { // small whole powers of anything
    Value base = draw.tamed(operand, 10);
    static const std::vector<double> kPowers = {2, 2, 3, 1, 0};
    double power = draw.pick(kPowers), top = std::pow(base.bounds.magnitude(), power);
    ElementType type = draw.chance(0.7) ? operand.type : ElementType(Wire::FLOAT);
    bool isEven = std::fmod(power, 2) == 0;
    return draw.node("Pow", {base, draw.scalar(type, power)}, {}, operand.type, operand.shape,
                     {isEven ? 0 : -std::max(top, 1.0), std::max(top, 1.0)});
  }
  Value base = draw.positive(draw.tamed(operand, 8), 0.25);
  Value power = partner(draw, base, operand.type, {-2, 2});
  double top = std::pow(std::max(base.bounds.high, 4.0), 2);
  return draw.node("Pow", {base, power}, {}, operand.type, *broadcast(base.shape, power.shape),
                   {0, top});
}

/// Max, Min, Sum and Mean of one to four operands.
std::optional<Value> drawVariadic(Drawing &draw, const Value &operand, const std::string &op) {
  bool isSum = op == "Sum" || op == "Mean";
  bool taken = isFloat(operand.type) || (!isSum && isInteger(operand.type) && draw.opset() >= 12);
  if (!taken)
    return std::nullopt;
  std::vector<Value> inputs{isSum ? draw.tamed(operand, 1e3) : operand};
  Shape shape = operand.shape;
  Bounds bounds = inputs[0].bounds;
  for (int64_t extra = draw.between(0, 2); extra >= 0; --extra) {
    Value sized = inputs[0];
    sized.shape = shape;
    Value next = partner(draw, sized, operand.type, Drawing::usualBounds(operand.type));
    shape = *broadcast(shape, next.shape);
    bounds = isSum ? sum(bounds, next.bounds)
                   : (op == "Max" ? larger(bounds, next.bounds) : smaller(bounds, next.bounds));
    inputs.push_back(next);
  }
  return draw.node(op, inputs, {}, operand.type, shape, bounds);
}

std::optional<Value> drawClip(Drawing &draw, const Value &operand) {
  bool taken = isFloat(operand.type) ||
               (isInteger(operand.type) && draw.opset() >= 12 && operand.type != Wire::INT16);
  if (!taken)
    return std::nullopt;
  double low = isFloat(operand.type) ? -0.75 : (isSigned(operand.type) ? -4 : 2),
         high = isFloat(operand.type) ? 1.5 : 6;
  Bounds result = operand.bounds;
  std::vector<Value> inputs{operand};
  bool hasLow = draw.chance(0.7), hasHigh = !hasLow || draw.chance(0.7);
  auto bound = [&](double number) {
    return draw.chance(0.7) ? draw.scalar(operand.type, number)
                            : draw.input(operand.type, {}, {number, number});
  };
  inputs.push_back(hasLow ? bound(low) : Drawing::omitted());
  if (hasLow)
    result = {std::max(result.low, low), std::max(result.high, low)};
  if (hasHigh) {
    inputs.push_back(bound(high));
    result = {std::min(result.low, high), std::min(result.high, high)};
  }
  return draw.node("Clip", inputs, {}, operand.type, operand.shape, result);
}

std::optional<Value> drawCompare(Drawing &draw, const Value &operand, const char *op) {
  bool isEqual = std::string_view(op) == "Equal";
  // Whether two computed floats are equal hangs on how each was rounded.
  if ((operand.type == Wire::BOOL && !isEqual) || (isEqual && isFloat(operand.type)))
    return std::nullopt;
  Value right = partner(draw, operand, operand.type, Drawing::usualBounds(operand.type));
  bool swaps = draw.chance(0.5);
  return draw.node(op, {swaps ? right : operand, swaps ? operand : right}, {}, Wire::BOOL,
                   *broadcast(operand.shape, right.shape), {0, 1});
}

std::optional<Value> drawLogic(Drawing &draw, const Value &operand, const char *op) {
  if (operand.type != Wire::BOOL)
    return std::nullopt;
  Value right = partner(draw, operand, Wire::BOOL, {0, 1});
  return draw.node(op, {operand, right}, {}, Wire::BOOL, *broadcast(operand.shape, right.shape),
                   {0, 1});
}

std::optional<Value> drawNot(Drawing &draw, const Value &operand) {
  if (operand.type != Wire::BOOL)
    return std::nullopt;
  return draw.node("Not", {operand}, {}, Wire::BOOL, operand.shape, {0, 1});
}

std::optional<Value> drawTest(Drawing &draw, const Value &operand, const char *op) {
  bool taken = operand.type == Wire::FLOAT || operand.type == Wire::DOUBLE ||
               (isFloat(operand.type) && (draw.opset() >= 20 || std::string_view(op) == "IsNaN"));
  if (!taken)
    return std::nullopt;
  Value input = operand;
  if (draw.chance(0.7)) { // some elements are what is looked for
    Value keep = partner(draw, operand, Wire::BOOL, {0, 1});
    double odd = std::string_view(op) == "IsNaN" ? std::nan("")
                                                 : (draw.chance(0.5) ? kInfinity : -kInfinity);
    Value other = draw.tensor(operand.type, {}, {odd});
    input = draw.node("Where", {keep, operand, other}, {}, operand.type,
                      *broadcast(keep.shape, operand.shape), operand.bounds);
  }
  Attributes attributes;
  if (std::string_view(op) == "IsInf" && draw.chance(0.4))
    attributes.add(draw.chance(0.5) ? "detect_negative" : "detect_positive", 0);
  return draw.node(op, {input}, attributes, Wire::BOOL, input.shape, {0, 1});
}

/// The operand chooses, or is one of the two that are chosen from.
std::optional<Value> drawWhere(Drawing &draw, const Value &operand) {
  if (operand.type == Wire::BOOL && draw.chance(0.7)) {
    static const std::vector<ElementType> kTypes = {Wire::FLOAT, Wire::FLOAT16, Wire::INT64,
                                                    Wire::INT32, Wire::UINT8};
    ElementType type = draw.pick(kTypes);
    Value yes = partner(draw, operand, type, Drawing::usualBounds(type));
    Value sized = operand;
    sized.shape = *broadcast(operand.shape, yes.shape);
    Value no = partner(draw, sized, type, Drawing::usualBounds(type));
    return draw.node(
        "Where", {operand, yes, no}, {}, type, *broadcast(sized.shape, no.shape),
        {std::min(yes.bounds.low, no.bounds.low), std::max(yes.bounds.high, no.bounds.high)});
  }
  Value condition = partner(draw, operand, Wire::BOOL, {0, 1});
  Value sized = operand;
  sized.shape = *broadcast(operand.shape, condition.shape);
  Value other = partner(draw, sized, operand.type, Drawing::usualBounds(operand.type));
  bool swaps = draw.chance(0.5);
  return draw.node("Where", {condition, swaps ? other : operand, swaps ? operand : other}, {},
                   operand.type, *broadcast(sized.shape, other.shape),
                   {std::min(operand.bounds.low, other.bounds.low),
                    std::max(operand.bounds.high, other.bounds.high)});
}

/// Only where the number that results is defined: whole numbers keep within the target's range.
std::optional<Value> castTo(Drawing &draw, const Value &operand, ElementType target, bool like) {
  Value input = operand;
  if (target != Wire::BOOL && input.bounds.magnitude() > safeMagnitude(target))
    input = draw.tamed(input, isFloat(target) ? 1e3 : 100);
  if (!isSigned(target) && target != Wire::BOOL && input.bounds.low < 0)
    input = draw.positive(draw.tamed(input, 100), 1);
  Bounds bounds = target == Wire::BOOL ? Bounds{0, 1} : input.bounds;
  if (like)
    return draw.node("CastLike", {input, draw.leaf(target, {Size::of(2)})}, {}, target,
                     operand.shape, bounds);
  return draw.node("Cast", {input}, Attributes().add("to", static_cast<int64_t>(target)), target,
                   operand.shape, bounds);
}

std::optional<Value> drawCast(Drawing &draw, const Value &operand, bool like) {
  ElementType target = draw.pick(everyType());
  return castTo(draw, operand, target, like);
}

Rule binary(const char *op, CombineBounds combine) {
  return {op, 7, [=](Drawing &draw, const Value &operand) {
            return drawBinary(draw, operand, op, combine);
          }};
}
Rule compare(const char *op, int64_t since) {
  return {op, since,
          [=](Drawing &draw, const Value &operand) { return drawCompare(draw, operand, op); }};
}
Rule logic(const char *op) {
  return {op, 7, [=](Drawing &draw, const Value &operand) { return drawLogic(draw, operand, op); }};
}
Rule variadic(const char *op) {
  return {op, 8,
          [=](Drawing &draw, const Value &operand) { return drawVariadic(draw, operand, op); }};
}
Rule test(const char *op, int64_t since) {
  return {op, since,
          [=](Drawing &draw, const Value &operand) { return drawTest(draw, operand, op); }};
}

} // namespace

std::vector<Rule> elementwiseRules() {
  std::vector<Rule> rules = {
      binary("Add", sum),
      binary("Sub", difference),
      binary("Mul", product),
      {"Div", 7, drawDiv},
      {"Mod", 10, drawMod},
      {"Pow", 12, drawPow},
      variadic("Max"),
      variadic("Min"),
      variadic("Sum"),
      variadic("Mean"),
      {"Clip", 11, drawClip},
      {"Gelu", 20, drawGelu},
      {"Swish", 24, drawSwish},
      compare("Equal", 11),
      compare("Less", 9),
      compare("LessOrEqual", 12),
      compare("Greater", 9),
      compare("GreaterOrEqual", 12),
      logic("And"),
      logic("Or"),
      logic("Xor"),
      {"Not", 1, drawNot},
      test("IsNaN", 13),
      test("IsInf", 10),
      {"Where", 9, drawWhere},
      {"Cast", 13,
       [](Drawing &draw, const Value &operand) { return drawCast(draw, operand, false); }},
      {"CastLike", 15,
       [](Drawing &draw, const Value &operand) { return drawCast(draw, operand, true); }},
  };
  for (const Function &function : kFunctions)
    rules.push_back({function.op, function.since, [&function](Drawing &draw, const Value &operand) {
                       return drawFunction(draw, operand, function);
                     }});
  return rules;
}

} // namespace smelt::generate
