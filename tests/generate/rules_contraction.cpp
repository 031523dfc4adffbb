// Matrix products and convolutions.
#include "tests/generate/operands.h"
#include "tests/generate/rules.h"
#include "tests/generate/scales.h"
#include "tests/generate/windows.h"

#include <algorithm>
#include <cmath>

namespace smelt::generate {

namespace {

using Drawn = std::optional<Value>;

bool isProductType(ElementType type) {
  return isFloat(type) || (isInteger(type) && elementBytes(type) >= 4);
}

/// Sums of `count` products stay far below the type's end, and so does their error.
Value tamedFactor(Drawing &draw, const Value &value) {
  return draw.tamed(value, isFloat(value.type) ? 8 : 30);
}

Bounds productBounds(const Value &a, const Value &b, const Size &depth) {
  double largest = a.bounds.magnitude() * b.bounds.magnitude() *
                   static_cast<double>(std::max<int64_t>(depth.largest(), 1));
  return {isSigned(a.type) ? -largest : 0, largest};
}

Bounds factorBounds(ElementType type) {
  if (isFloat(type))
    return {-1, 1};
  return isSigned(type) ? Bounds{-5, 5} : Bounds{0, 5};
}

/// The batch axes of the other factor: those of this one, thinned out, fewer, or more.
Shape drawBatch(Drawing &draw, const Shape &batch) {
  Shape other = batch;
  for (Size &size : other)
    if (size.isDerived() || draw.chance(0.3))
      size = Size::of(1);
  while (!other.empty() && draw.chance(0.4))
    other.erase(other.begin());
  return other;
}

/// The other factor's free size: the product takes no more than some million multiplications, so that thousands of graphs
/// can be interpreted.
Size drawFree(Drawing &draw, const Shape &shape) {
  constexpr int64_t kMostProducts = 1 << 22;
  return draw.drawSize(
      std::clamp<int64_t>(kMostProducts / std::max<int64_t>(largestCount(shape), 1), 1, 513));
}

bool fits(ElementType type, Bounds bounds) { return bounds.magnitude() < safeMagnitude(type) * 2; }

/// The axes before the matrix, or before the vector.
Shape batchOf(const Shape &shape) {
  auto matrix = std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(shape.size()), 2);
  return {shape.begin(), shape.end() - matrix};
}

/// What multiplies an operand, on its right or on its left.
struct OtherFactor {
  bool isRight;
  Size depth;
  Shape shape;
};

/// For a factor of this shape; either may be a vector.
std::optional<OtherFactor> drawOtherFactor(Drawing &draw, const Shape &factor) {
  if (factor.empty())
    return std::nullopt;
  bool isRight = factor.size() < 2 || draw.chance(0.6);
  Size depth = isRight ? factor.back() : factor[factor.size() - 2];
  if (depth.isDerived() || largestCount(factor) > 1 << 18)
    return std::nullopt;
  Shape shape = drawBatch(draw, batchOf(factor));
  Size free = drawFree(draw, factor);
  if (draw.chance(0.05))
    shape = {depth};
  else if (isRight)
    shape.insert(shape.end(), {depth, free});
  else
    shape.insert(shape.end(), {free, depth});
  if (largestCount(shape) > 1 << 18)
    return std::nullopt;
  return OtherFactor{isRight, depth, shape};
}

Shape productShape(const Shape &left, const Shape &right) {
  Shape result = *broadcast(batchOf(left), batchOf(right));
  if (left.size() > 1)
    result.push_back(left[left.size() - 2]);
  if (right.size() > 1)
    result.push_back(right.back());
  return result;
}

Drawn drawMatMul(Drawing &draw, const Value &operand) {
  if (!isProductType(operand.type))
    return std::nullopt;
  auto drawn = drawOtherFactor(draw, operand.shape);
  if (!drawn)
    return std::nullopt;
  Value factor = tamedFactor(draw, operand);
  if (!fits(operand.type, productBounds(factor, {"", operand.type, {}, factorBounds(operand.type)},
                                        drawn->depth)))
    return std::nullopt;
  Value other = generate::operand(draw, operand.type, drawn->shape, factorBounds(operand.type));
  const Value &left = drawn->isRight ? factor : other, &right = drawn->isRight ? other : factor;
  return draw.node("MatMul", {left, right}, {}, operand.type, productShape(left.shape, right.shape),
                   productBounds(left, right, drawn->depth));
}

/// None, one for all, or one for each element along the axis that is `fromEnd` axes before the last.
Value drawFactorZeroPoint(Drawing &draw, const Value &factor, size_t fromEnd) {
  if (draw.chance(0.3))
    return Drawing::omitted();
  size_t rank = factor.shape.size();
  bool isPlain = rank < 2 || hasDerived(factor.shape) || draw.chance(0.5);
  if (isPlain)
    return drawZeroPoint(draw, factor.type, draw.chance(0.5) ? Shape() : Shape{Size::of(1)});
  if (rank == 2 && draw.chance(0.7))
    return drawZeroPoint(draw, factor.type, {factor.shape[rank - 1 - fromEnd]});
  Shape shape = factor.shape;
  shape[rank - 2 + fromEnd] = Size::of(1);
  return drawZeroPoint(draw, factor.type, shape);
}

ElementType drawByteType(Drawing &draw) { return draw.chance(0.5) ? Wire::INT8 : Wire::UINT8; }

/// Bytes of any sign on either side, of all their values, with zero points of every form.
Drawn drawMatMulInteger(Drawing &draw, const Value &operand) {
  if (!isByte(operand.type))
    return std::nullopt;
  auto drawn = drawOtherFactor(draw, operand.shape);
  if (!drawn)
    return std::nullopt;
  ElementType type = drawByteType(draw);
  Value other = generate::operand(draw, type, drawn->shape, rangeOf(type));
  const Value &left = drawn->isRight ? operand : other, &right = drawn->isRight ? other : operand;
  double largest = 255.0 * 255.0 * static_cast<double>(drawn->depth.largest());
  return draw.node(
      "MatMulInteger",
      {left, right, drawFactorZeroPoint(draw, left, 1), drawFactorZeroPoint(draw, right, 0)}, {},
      Wire::INT32, productShape(left.shape, right.shape), {-largest, largest});
}

constexpr Bounds kLeftScale{0.01, 0.1}, kRightScale{0.001, 0.01}, kResultScale{0.1, 1};

/// The same with scales that keep the sums of most graphs inside a byte.
Drawn drawQLinearMatMul(Drawing &draw, const Value &operand) {
  if (!isByte(operand.type))
    return std::nullopt;
  auto drawn = drawOtherFactor(draw, operand.shape);
  if (!drawn)
    return std::nullopt;
  ElementType type = drawByteType(draw), resultType = drawByteType(draw);
  Value other = generate::operand(draw, type, drawn->shape, rangeOf(type));
  const Value &left = drawn->isRight ? operand : other, &right = drawn->isRight ? other : operand;
  bool isPerColumn = right.shape.size() == 2 && draw.chance(0.4);
  Shape perColumn = isPerColumn ? Shape{right.shape[1]} : Shape();
  return draw.node("QLinearMatMul",
                   {left, drawScale(draw, {}, kLeftScale), drawZeroPoint(draw, left.type, {}),
                    right, drawScale(draw, perColumn, kRightScale),
                    drawZeroPoint(draw, right.type, perColumn), drawScale(draw, {}, kResultScale),
                    drawZeroPoint(draw, resultType, {})},
                   {}, resultType, productShape(left.shape, right.shape), rangeOf(resultType));
}

/// Both transpositions, alpha, beta, and an addend of every shape that broadcasts.
Drawn drawGemm(Drawing &draw, const Value &operand) {
  bool taken =
      isProductType(operand.type) && operand.shape.size() == 2 && !hasDerived(operand.shape);
  if (!taken || largestCount(operand.shape) > 1 << 18)
    return std::nullopt;
  bool isLeft = draw.chance(0.6), transA = draw.chance(0.4), transB = draw.chance(0.4);
  bool isTransposed = isLeft ? transA : transB;
  Size free = drawFree(draw, operand.shape);
  Size depth = operand.shape[isLeft == isTransposed ? 0 : 1],
       own = operand.shape[isLeft == isTransposed ? 1 : 0];
  Shape shape{depth, free};
  if (isLeft == transB && isLeft)
    std::swap(shape[0], shape[1]);
  if (!isLeft && !transA)
    shape = {free, depth};
  Value factor = tamedFactor(draw, operand);
  if (!fits(operand.type,
            productBounds(factor, {"", operand.type, {}, factorBounds(operand.type)}, depth)))
    return std::nullopt;
  Value other = generate::operand(draw, operand.type, shape, factorBounds(operand.type));
  Size m = isLeft ? own : free, n = isLeft ? free : own;
  std::vector<Value> inputs{isLeft ? factor : other, isLeft ? other : factor};
  Bounds bounds = productBounds(factor, other, depth);
  if (draw.chance(0.6)) {
    Shape addend{draw.chance(0.3) ? m : Size::of(1), draw.chance(0.8) ? n : Size::of(1)};
    if (addend[0].is(1) && draw.chance(0.6))
      addend.erase(addend.begin());
    inputs.push_back(generate::operand(draw, operand.type, addend, factorBounds(operand.type)));
    bounds = {2 * bounds.low - 5, 2 * bounds.high + 5};
  }
  Attributes attributes;
  if (transA)
    attributes.add("transA", 1);
  if (transB)
    attributes.add("transB", 1);
  if (isFloat(operand.type) && draw.chance(0.3))
    attributes.add("alpha", 0.5f);
  if (isFloat(operand.type) && inputs.size() > 2 && draw.chance(0.3))
    attributes.add("beta", -2.0f);
  return draw.node("Gemm", inputs, attributes, operand.type, {m, n}, bounds);
}

Drawn drawConv(Drawing &draw, const Value &operand) {
  bool taken = isFloat(operand.type) && (operand.type != Wire::BFLOAT16 || draw.opset() >= 22);
  auto drawn = taken ? drawConvolution(draw, operand.shape) : std::nullopt;
  if (!drawn)
    return std::nullopt;
  Value input = tamedFactor(draw, operand);
  std::vector<Value> inputs{input, draw.leaf(operand.type, drawn->filter, {-1, 1})};
  if (draw.chance(0.5))
    inputs.push_back(draw.leaf(operand.type, {drawn->filter[0]}, {-1, 1}));
  double largest = input.bounds.magnitude() * drawn->depth() + 1;
  return draw.node("Conv", inputs, drawn->attributes, operand.type, drawn->result,
                   {-largest, largest});
}

Drawn drawConvInteger(Drawing &draw, const Value &operand) {
  auto drawn = isByte(operand.type) ? drawConvolution(draw, operand.shape) : std::nullopt;
  if (!drawn)
    return std::nullopt;
  ElementType type = drawByteType(draw);
  std::vector<Value> inputs{operand, draw.leaf(type, drawn->filter, rangeOf(type))};
  if (draw.chance(0.7)) {
    inputs.push_back(drawZeroPoint(draw, operand.type, {}));
    if (draw.chance(0.7))
      inputs.push_back(
          drawZeroPoint(draw, type, draw.chance(0.5) ? Shape() : Shape{drawn->filter[0]}));
  }
  double largest = 255.0 * 255.0 * drawn->depth();
  return draw.node("ConvInteger", inputs, drawn->attributes, Wire::INT32, drawn->result,
                   {-largest, largest});
}

Drawn drawQLinearConv(Drawing &draw, const Value &operand) {
  auto drawn = isByte(operand.type) ? drawConvolution(draw, operand.shape) : std::nullopt;
  if (!drawn)
    return std::nullopt;
  ElementType type = drawByteType(draw), resultType = drawByteType(draw);
  Shape perFilter = draw.chance(0.5) ? Shape() : Shape{drawn->filter[0]};
  std::vector<Value> inputs{operand,
                            drawScale(draw, {}, kLeftScale),
                            drawZeroPoint(draw, operand.type, {}),
                            draw.leaf(type, drawn->filter, rangeOf(type)),
                            drawScale(draw, perFilter, kRightScale),
                            drawZeroPoint(draw, type, perFilter),
                            drawScale(draw, {}, kResultScale),
                            drawZeroPoint(draw, resultType, {})};
  if (draw.chance(0.5))
    inputs.push_back(draw.leaf(Wire::INT32, {drawn->filter[0]}, {-1000, 1000}));
  return draw.node("QLinearConv", inputs, drawn->attributes, resultType, drawn->result,
                   rangeOf(resultType));
}

} // namespace

std::vector<Rule> contractionRules() {
  return {{"MatMul", 9, drawMatMul},
          {"MatMulInteger", 10, drawMatMulInteger},
          {"QLinearMatMul", 10, drawQLinearMatMul},
          {"Gemm", 11, drawGemm},
          {"Conv", 11, drawConv},
          {"ConvInteger", 10, drawConvInteger},
          {"QLinearConv", 10, drawQLinearConv}};
}

} // namespace smelt::generate
