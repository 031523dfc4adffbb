#include "tests/generate/operands.h"

#include <algorithm>
#include <numeric>

namespace smelt::generate {

namespace {

constexpr int64_t kMaxCount = 1 << 18;

/// An axis whose size is a number of at least `least`; the last one more often than the others.
std::optional<size_t> constantAxis(Drawing &draw, const Shape &shape, int64_t least) {
  std::vector<size_t> axes;
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (shape[axis].isConstant() && shape[axis].values[0] >= least)
      axes.push_back(axis);
  if (axes.empty())
    return std::nullopt;
  return draw.chance(0.5) ? axes.back() : draw.pick(axes);
}

std::vector<int64_t> drawPermutation(Drawing &draw, size_t rank) {
  std::vector<int64_t> permutation(rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  for (size_t axis = rank; axis > 1; --axis)
    std::swap(permutation[axis - 1],
              permutation[static_cast<size_t>(draw.between(0, static_cast<int64_t>(axis) - 1))]);
  return permutation;
}

std::optional<Value> transposed(Drawing &draw, ElementType type, const Shape &shape,
                                Bounds bounds) {
  if (shape.size() < 2)
    return std::nullopt;
  std::vector<int64_t> permutation = drawPermutation(draw, shape.size());
  if (draw.chance(0.5)) { // of the last two axes, as in most models
    std::iota(permutation.begin(), permutation.end(), 0);
    std::swap(permutation.end()[-1], permutation.end()[-2]);
  }
  Shape source(shape.size());
  for (size_t axis = 0; axis < shape.size(); ++axis)
    source[static_cast<size_t>(permutation[axis])] = shape[axis];
  return draw.node("Transpose", {draw.leaf(type, source, bounds)},
                   Attributes().add("perm", permutation), type, shape, bounds);
}

/// Each of `count` elements, `step` apart, from `offset` on; the step may run backwards.
std::optional<Value> sliced(Drawing &draw, ElementType type, const Shape &shape, Bounds bounds) {
  auto axis = constantAxis(draw, shape, 1);
  if (!axis)
    return std::nullopt;
  if (draw.opset() < 10) // bounds were attributes
    return std::nullopt;
  static const std::vector<int64_t> kSteps = {1, 1, 2, 3, -1, -2};
  int64_t count = shape[*axis].values[0], step = draw.pick(kSteps), offset = draw.between(0, 3);
  int64_t reach = (count - 1) * std::abs(step) + 1;
  Shape source = shape;
  source[*axis] = Size::of(offset + reach + draw.between(0, 2));
  if (largestCount(source) > kMaxCount)
    return std::nullopt;
  int64_t start = step > 0 ? offset : offset + reach - 1;
  int64_t end = step > 0 ? offset + reach : offset - 1;
  if (end < 0)
    end = -(int64_t{1} << 40);
  Value data = draw.leaf(type, source, bounds);
  Value starts = draw.integers({start}), ends = draw.integers({end});
  return draw.node(
      "Slice",
      {data, starts, ends, draw.integers({static_cast<int64_t>(*axis)}), draw.integers({step})}, {},
      type, shape, bounds);
}

std::optional<Value> expanded(Drawing &draw, ElementType type, const Shape &shape, Bounds bounds) {
  if (!isStatic(shape) || shape.empty())
    return std::nullopt;
  Shape source = shape;
  for (Size &size : source)
    if (draw.chance(0.5))
      size = Size::of(1);
  while (!source.empty() && draw.chance(0.25))
    source.erase(source.begin());
  std::vector<int64_t> target;
  for (const Size &size : shape)
    target.push_back(size.values[0]);
  return draw.node("Expand", {draw.leaf(type, source, bounds), draw.integers(target)}, {}, type,
                   shape, bounds);
}

std::optional<Value> reshaped(Drawing &draw, ElementType type, const Shape &shape, Bounds bounds) {
  if (!isStatic(shape) || largestCount(shape) == 0) // 0 in a target keeps an axis
    return std::nullopt;
  Shape source;
  for (const Size &size : shape) { // split or merged, axis by axis
    int64_t extent = size.values[0];
    if (extent % 2 == 0 && draw.chance(0.4)) {
      source.push_back(Size::of(2));
      source.push_back(Size::of(extent / 2));
    } else if (!source.empty() && draw.chance(0.5)) {
      source.back() = Size::of(source.back().values[0] * extent);
    } else {
      source.push_back(size);
    }
  }
  std::vector<int64_t> target;
  for (const Size &size : shape)
    target.push_back(size.values[0]);
  return draw.node("Reshape", {draw.leaf(type, source, bounds), draw.integers(target)}, {}, type,
                   shape, bounds);
}

std::optional<Value> joined(Drawing &draw, ElementType type, const Shape &shape, Bounds bounds) {
  auto axis = constantAxis(draw, shape, 2);
  if (!axis)
    return std::nullopt;
  int64_t extent = shape[*axis].values[0], first = draw.between(1, extent - 1);
  Shape left = shape, right = shape;
  left[*axis] = Size::of(first);
  right[*axis] = Size::of(extent - first);
  return draw.node("Concat", {draw.leaf(type, left, bounds), draw.leaf(type, right, bounds)},
                   Attributes().add("axis", static_cast<int64_t>(*axis)), type, shape, bounds);
}

std::optional<Value> gathered(Drawing &draw, ElementType type, const Shape &shape, Bounds bounds) {
  if (shape.empty())
    return std::nullopt;
  size_t axis = static_cast<size_t>(draw.between(0, static_cast<int64_t>(shape.size()) - 1));
  Shape source = shape;
  int64_t rows = draw.between(1, 9);
  source[axis] = Size::of(rows);
  Value data = draw.leaf(type, source, bounds);
  Value indices = draw.leaf(draw.chance(0.5) ? Wire::INT64 : Wire::INT32, {shape[axis]},
                            {static_cast<double>(-rows), static_cast<double>(rows - 1)});
  return draw.node("Gather", {data, indices}, Attributes().add("axis", static_cast<int64_t>(axis)),
                   type, shape, bounds);
}

std::optional<Value> converted(Drawing &draw, ElementType type, const Shape &shape, Bounds bounds) {
  if (!isFloat(type))
    return std::nullopt;
  static const std::vector<ElementType> kSources = {Wire::FLOAT, Wire::FLOAT16, Wire::INT32,
                                                    Wire::INT64};
  ElementType source = draw.pick(kSources);
  bool fits = isFloat(source) || bounds.high - bounds.low >= 2;
  if (source == type || !fits)
    return std::nullopt;
  return draw.node("Cast", {draw.leaf(source, shape, bounds)},
                   Attributes().add("to", static_cast<int64_t>(type)), type, shape, bounds);
}

std::optional<Value> computed(Drawing &draw, ElementType type, const Shape &shape, Bounds bounds) {
  bool isSymmetric = isFloat(type) && bounds.low == -bounds.high;
  if (!isSymmetric)
    return std::nullopt;
  static const std::vector<const char *> kOps = {"Neg", "Tanh", "Relu"};
  const char *op = draw.pick(kOps);
  double limit = bounds.high;
  if (std::string_view(op) == "Tanh" && limit < 1)
    return std::nullopt;
  Bounds result = std::string_view(op) == "Relu" ? Bounds{0, limit} : bounds;
  return draw.node(op, {draw.leaf(type, shape, bounds)}, {}, type, shape, result);
}

/// An earlier value that broadcasts with `value` to a shape that is not absurd.
std::optional<Value> earlier(Drawing &draw, const Value &value, ElementType type, Bounds bounds) {
  std::vector<Value> fitting;
  for (const Value &candidate : draw.available()) {
    bool lies = candidate.bounds.low >= bounds.low && candidate.bounds.high <= bounds.high;
    auto shape = broadcast(candidate.shape, value.shape);
    if (candidate.type == type && lies && shape && largestCount(*shape) <= 1 << 16)
      fitting.push_back(candidate);
  }
  if (fitting.empty())
    return std::nullopt;
  return draw.pick(fitting);
}

/// Some axes become 1, leading ones are left out; axes of 1 may grow.
Shape partnerShape(Drawing &draw, const Shape &shape) {
  Shape result = shape;
  double thinning = draw.chance(0.5) ? 0 : 0.5;
  int64_t room = std::max<int64_t>((1 << 15) / std::max<int64_t>(largestCount(shape), 1), 1);
  for (Size &size : result) {
    if (size.isDerived() || draw.chance(thinning))
      size = Size::of(1);
    else if (size.is(1) && draw.chance(0.2))
      size = draw.drawConstant(std::min<int64_t>(room, 33));
  }
  while (!result.empty() && draw.chance(0.25))
    result.erase(result.begin());
  return result;
}

} // namespace

bool hasDerived(const Shape &shape) {
  return std::any_of(shape.begin(), shape.end(), [](const Size &size) { return size.isDerived(); });
}

bool isFilled(const Shape &shape) {
  return std::all_of(shape.begin(), shape.end(),
                     [](const Size &size) { return size.smallest() > 0; });
}

Value operand(Drawing &draw, ElementType type, const Shape &shape, Bounds bounds) {
  using Spelling = std::optional<Value> (*)(Drawing &, ElementType, const Shape &, Bounds);
  static const std::vector<Spelling> kSpellings = {transposed, transposed, sliced, sliced,
                                                   expanded,   reshaped,   joined, gathered,
                                                   converted,  computed};
  Spelling spelling = draw.pick(kSpellings);
  bool isPlain = draw.chance(0.5);
  if (!isPlain)
    if (auto value = spelling(draw, type, shape, bounds))
      return *value;
  return draw.leaf(type, shape, bounds);
}

Value operand(Drawing &draw, ElementType type, const Shape &shape) {
  return operand(draw, type, shape, Drawing::usualBounds(type));
}

Value partner(Drawing &draw, const Value &value, ElementType type, Bounds bounds) {
  if (draw.chance(0.3))
    if (auto found = earlier(draw, value, type, bounds))
      return *found;
  if (draw.chance(0.2)) {
    Random &random = draw.random;
    double low = isFloat(type) ? bounds.low : static_cast<double>(static_cast<int64_t>(bounds.low));
    double number = low + random.uniform() * (bounds.high - bounds.low);
    return draw.scalar(type,
                       isFloat(type) ? number : static_cast<double>(static_cast<int64_t>(number)));
  }
  return operand(draw, type, partnerShape(draw, value.shape), bounds);
}

Bounds rangeOf(ElementType type) {
  double most = safeMagnitude(type);
  return {isSigned(type) ? -most - 1 : 0, most};
}

} // namespace smelt::generate
