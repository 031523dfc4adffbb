// Matrix products and convolutions.
#include "tests/generate/operands.h"
#include "tests/generate/rules.h"

#include <algorithm>
#include <cmath>

namespace smelt::generate {

namespace {

using Drawn = std::optional<Value>;

bool isProductType(ElementType type) {
  return isFloat(type) || type == Wire::INT32 || type == Wire::INT64;
}

/// Sums of `count` products stay far below the type's end, and so does their error.
Value tamedFactor(Drawing &draw, const Value &value) {
  return draw.tamed(value, isFloat(value.type) ? 8 : 30);
}

Bounds productBounds(const Value &a, const Value &b, const Size &depth) {
  double largest = a.bounds.magnitude() * b.bounds.magnitude() *
                   static_cast<double>(std::max<int64_t>(depth.largest(), 1));
  return {-largest, largest};
}

Bounds factorBounds(ElementType type) { return isFloat(type) ? Bounds{-1, 1} : Bounds{-5, 5}; }

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

/// The operand is the left or the right factor; either may be a vector.
Drawn drawMatMul(Drawing &draw, const Value &operand) {
  size_t rank = operand.shape.size();
  if (!isProductType(operand.type) || rank < 1)
    return std::nullopt;
  bool isLeft = rank < 2 || draw.chance(0.6);
  Size depth = isLeft ? operand.shape.back() : operand.shape[rank - 2];
  if (depth.isDerived() || largestCount(operand.shape) > 1 << 18)
    return std::nullopt;
  Shape batch(operand.shape.begin(),
              operand.shape.end() - std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(rank), 2));
  Shape shape = drawBatch(draw, batch);
  Size free = drawFree(draw, operand.shape);
  bool isVector = draw.chance(0.05);
  if (isVector)
    shape = {depth};
  else if (isLeft)
    shape.insert(shape.end(), {depth, free});
  else
    shape.insert(shape.end(), {free, depth});
  if (largestCount(shape) > 1 << 18)
    return std::nullopt;
  Value factor = tamedFactor(draw, operand);
  if (!fits(operand.type,
            productBounds(factor, {"", operand.type, {}, factorBounds(operand.type)}, depth)))
    return std::nullopt;
  Value other = generate::operand(draw, operand.type, shape, factorBounds(operand.type));
  const Value &left = isLeft ? factor : other, &right = isLeft ? other : factor;
  Shape otherBatch(shape.begin(), shape.end() - std::min<std::ptrdiff_t>(
                                                    static_cast<std::ptrdiff_t>(shape.size()), 2));
  Shape result = *broadcast(batch, otherBatch);
  if (left.shape.size() > 1)
    result.push_back(left.shape[left.shape.size() - 2]);
  if (right.shape.size() > 1)
    result.push_back(right.shape.back());
  return draw.node("MatMul", {left, right}, {}, operand.type, result,
                   productBounds(left, right, depth));
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

/// One spatial axis or two, groups, strides, dilations and paddings.
Drawn drawConv(Drawing &draw, const Value &operand) {
  size_t rank = operand.shape.size();
  bool taken = isFloat(operand.type) && (rank == 3 || rank == 4) &&
               (operand.type != Wire::BFLOAT16 || draw.opset() >= 22);
  if (!taken)
    return std::nullopt;
  const Size &channels = operand.shape[1];
  if (!channels.isConstant() || channels.values[0] > 128 || channels.values[0] < 1)
    return std::nullopt;
  int64_t in = channels.values[0], groups = in % 2 == 0 && draw.chance(0.3) ? 2 : 1;
  int64_t out = groups * draw.between(1, 9);
  Shape filter{Size::of(out), Size::of(in / groups)}, result{operand.shape[0], Size::of(out)};
  std::vector<int64_t> strides, dilations, starts, ends;
  for (size_t axis = 2; axis < rank; ++axis) {
    const Size &size = operand.shape[axis];
    int64_t kernel = draw.between(1, 3), stride = draw.between(1, 3), dilation = draw.between(1, 2),
            before = draw.between(0, 2), after = draw.between(0, 2);
    int64_t reach = (kernel - 1) * dilation + 1;
    if (size.smallest() + before + after < reach)
      before = after = reach;
    std::array<int64_t, kAssignments> values;
    for (size_t at = 0; at < kAssignments; ++at)
      values[at] = (size.values[at] + before + after - reach) / stride + 1;
    filter.push_back(Size::of(kernel));
    result.push_back(size.isConstant() ? Size::of(values[0]) : draw.derived(values));
    strides.push_back(stride), dilations.push_back(dilation), starts.push_back(before),
        ends.push_back(after);
  }
  if (largestCount(result) > 1 << 18)
    return std::nullopt;
  Value input = tamedFactor(draw, operand);
  std::vector<Value> inputs{input, draw.leaf(operand.type, filter, {-1, 1})};
  if (draw.chance(0.5))
    inputs.push_back(draw.leaf(operand.type, {Size::of(out)}, {-1, 1}));
  starts.insert(starts.end(), ends.begin(), ends.end());
  Attributes attributes;
  attributes.add("strides", strides)
      .add("dilations", dilations)
      .add("pads", starts)
      .add("group", groups);
  double largest = input.bounds.magnitude() * static_cast<double>(largestCount(filter) / out) + 1;
  return draw.node("Conv", inputs, attributes, operand.type, result, {-largest, largest});
}

} // namespace

std::vector<Rule> contractionRules() {
  return {{"MatMul", 9, drawMatMul}, {"Gemm", 11, drawGemm}, {"Conv", 11, drawConv}};
}

} // namespace smelt::generate
