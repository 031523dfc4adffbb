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

} // namespace

std::vector<Rule> smallTypeRules() {
  return {{"Cast to few bits", 21, drawPassage},
          {"QuantizeLinear to few bits", 21, drawQuantizedPassage}};
}

} // namespace smelt::generate
