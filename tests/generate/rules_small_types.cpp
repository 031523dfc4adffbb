// Floats of 8 and 4 bits and integers of 4 and 2: a float becomes one, is moved, and becomes a float again. What lies between
// is offered to no other op: few take such types.
#include "tests/generate/operands.h"
#include "tests/generate/rules.h"

#include <algorithm>
#include <numeric>

namespace smelt::generate {

namespace {

using Drawn = std::optional<Value>;

struct SmallType {
  ElementType type;
  int64_t since;
  double most; ///< well inside the range
  bool isSigned = true;
};

constexpr SmallType kSmallTypes[] = {
    {Wire::FLOAT8E4M3FN, 21, 200}, {Wire::FLOAT8E4M3FNUZ, 21, 100},
    {Wire::FLOAT8E5M2, 21, 1000},  {Wire::FLOAT8E5M2FNUZ, 21, 1000},
    {Wire::INT4, 21, 7},           {Wire::UINT4, 21, 15, false},
    {Wire::FLOAT4E2M1, 23, 6},     {Wire::INT2, 25, 1},
    {Wire::UINT2, 25, 3, false}};

constexpr int64_t kMovesSince = 25; // Transpose and Flatten take all of them

std::optional<SmallType> drawType(Drawing &draw) {
  std::vector<SmallType> known;
  std::copy_if(std::begin(kSmallTypes), std::end(kSmallTypes), std::back_inserter(known),
               [&](const SmallType &small) { return small.since <= draw.opset(); });
  return known.empty() ? std::nullopt : std::optional(draw.pick(known));
}

bool canBeSmall(const Value &operand) {
  return operand.type == Wire::FLOAT || operand.type == Wire::FLOAT16 ||
         operand.type == Wire::BFLOAT16;
}

bool isFloat8(ElementType type) {
  return type >= Wire::FLOAT8E4M3FN && type <= Wire::FLOAT8E5M2FNUZ;
}

Value turnedAround(Drawing &draw, const Value &value) {
  std::vector<int64_t> permutation(value.shape.size());
  std::iota(permutation.rbegin(), permutation.rend(), 0);
  Shape shape(value.shape.rbegin(), value.shape.rend());
  return draw.aside("Transpose", {value}, Attributes().add("perm", permutation), value.type, shape,
                    value.bounds);
}

Value flattened(Drawing &draw, const Value &value) {
  Shape shape{value.shape[0], draw.product({value.shape.begin() + 1, value.shape.end()})};
  return draw.aside("Flatten", {value}, {}, value.type, shape, value.bounds);
}

Value movedAbout(Drawing &draw, Value value) {
  if (draw.opset() < kMovesSince || value.shape.empty())
    return value;
  for (int64_t count = draw.between(0, 2); count > 0; --count)
    value = draw.chance(0.6) ? turnedAround(draw, value) : flattened(draw, value);
  return value;
}

Drawn drawPassage(Drawing &draw, const Value &operand) {
  auto small = canBeSmall(operand) ? drawType(draw) : std::nullopt;
  if (!small)
    return std::nullopt;
  Value input = draw.tamed(small->isSigned ? operand : draw.positive(operand, 0.25), small->most);
  Attributes attributes;
  attributes.add("to", static_cast<int64_t>(small->type));
  if (isFloat8(small->type))
    attributes.add("saturate", draw.between(0, 1));
  Value value = draw.aside("Cast", {input}, attributes, small->type, operand.shape, input.bounds);
  value = movedAbout(draw, value);
  return draw.node("Cast", {value}, Attributes().add("to", static_cast<int64_t>(operand.type)),
                   operand.type, value.shape, value.bounds);
}

/// A scale of one value, and what stands for its numbers in few bits.
Drawn drawQuantizedPassage(Drawing &draw, const Value &operand) {
  auto small = canBeSmall(operand) ? drawType(draw) : std::nullopt;
  if (!small)
    return std::nullopt;
  double largest = std::max(operand.bounds.magnitude(), 1e-2) / small->most;
  Value scale = draw.leaf(operand.type, {}, {largest, 2 * largest});
  Value value = draw.aside("QuantizeLinear", {operand, scale},
                           Attributes().add("output_dtype", static_cast<int64_t>(small->type)),
                           small->type, operand.shape, {-small->most, small->most});
  value = movedAbout(draw, value);
  double most = 2 * largest * small->most;
  return draw.node("DequantizeLinear", {value, scale}, {}, operand.type, value.shape,
                   {-most, most});
}

SmallType drawMultiplied(Drawing &draw) {
  return draw.chance(0.7) ? SmallType{Wire::FLOAT8E4M3FN, 21, 200}
                          : SmallType{Wire::FLOAT8E5M2, 21, 1000};
}

/// A weight as float of 8 bits, [depth, columns] or turned round, with one scale or one for each column.
Value weightOfFloat8(Drawing &draw, ElementType type, const Size &depth, const Size &columns) {
  bool isTurned = draw.chance(0.4), hasScales = draw.chance(0.5);
  Shape shape = isTurned ? Shape{columns, depth} : Shape{depth, columns};
  ElementType stored = drawMultiplied(draw).type;
  Value weight = draw.initializer(type, shape, {-1, 1});
  Attributes attributes = Attributes().add("to", static_cast<int64_t>(stored));
  weight = draw.aside("Cast", {weight}, attributes, stored, shape, weight.bounds);
  Value scale = draw.initializer(type, hasScales ? Shape{columns} : Shape(), {0.25, 1});
  Attributes axis;
  if (hasScales)
    axis.add("axis", isTurned ? 0 : 1);
  weight = draw.aside("DequantizeLinear", {weight, scale}, axis, type, shape, {-1, 1});
  return isTurned ? turnedAround(draw, weight) : weight;
}

/// What is quantised, by a weight: tensor cores multiply the floats of 8 bits themselves.
Drawn drawProduct(Drawing &draw, const Value &operand) {
  constexpr int64_t kMostColumns = 300;
  if (!canBeSmall(operand) || operand.shape.size() < 2 || !operand.shape.back().isConstant() ||
      largestCount(operand.shape) > 1 << 16 || operand.shape.back().is(0))
    return std::nullopt;
  SmallType small = drawMultiplied(draw);
  Size columns = Size::of(draw.between(1, kMostColumns));
  double largest = std::max(operand.bounds.magnitude(), 1e-2) / small.most, most = 2 * largest;
  Value scale = draw.initializer(operand.type, {}, {largest, most});
  Value left = draw.aside("QuantizeLinear", {operand, scale},
                          Attributes().add("output_dtype", static_cast<int64_t>(small.type)),
                          small.type, operand.shape, {-small.most, small.most});
  most *= small.most;
  left =
      draw.aside("DequantizeLinear", {left, scale}, {}, operand.type, operand.shape, {-most, most});
  Value right = weightOfFloat8(draw, operand.type, operand.shape.back(), columns);
  Shape shape = operand.shape;
  most *= static_cast<double>(shape.back().largest());
  shape.back() = columns;
  if (most > safeMagnitude(operand.type))
    return std::nullopt;
  return draw.node("MatMul", {left, right}, {}, operand.type, shape, {-most, most});
}

} // namespace

std::vector<Rule> smallTypeRules() {
  return {{"Cast to few bits", 21, drawPassage},
          {"QuantizeLinear to few bits", 21, drawQuantizedPassage},
          {"Product of floats of 8 bits", 21, drawProduct}};
}

} // namespace smelt::generate
