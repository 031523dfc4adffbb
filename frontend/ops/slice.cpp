// Slice and Split: bounds that may be negative, clamped or symbolic become starts and sizes.
#include "frontend/node_table.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

/// Bounds from here on mean "to the end": exporters write the largest int64 or int32.
constexpr int64_t kOpenEnd = (int64_t{1} << 31) - 1;

/// A bound of a slice, counted from the start of an axis of `size` elements and clamped to [low,
/// high]. A symbolic bound is taken to lie within the axis, and so is that of one element from
/// either end; a guard records it: sizes stay as simple as the model meant them (`seq`, not
/// `min(seq, 512)`; 1, not `min(1, seq)`).
FailureOr<Dim> resolveBound(GraphBuilder &build, Dim bound, Dim size, Dim low, Dim high) {
  auto constant = bound.asConstant();
  if (constant && *constant >= kOpenEnd)
    return high;
  if (constant && *constant <= -kOpenEnd)
    return low;
  bool isNegative = (bound * -1 - 1).isKnownNonNegative();
  Dim position = isNegative ? size + bound : bound;
  ShapeFacts &facts = build.getFacts();
  if (constant) {
    Dim clamped = position.max(low).min(high);
    if (std::abs(*constant) != 1 || clamped == position || size.asConstant())
      return clamped;
    if (failed(facts.requireAtMost(build.getLocation(), build.size(1), size,
                                   "a slice takes an element from an end of its tensor")))
      return failure();
    return position;
  }
  if (failed(facts.requireAtMost(build.getLocation(), position, high,
                                 "a slice ends within its tensor")) ||
      failed(facts.requireAtMost(build.getLocation(), low, position,
                                 "a slice starts within its tensor")))
    return failure();
  return position;
}

struct Range {
  Dim start, length;
};

FailureOr<Range> resolveRange(GraphBuilder &build, Dim start, Dim end, int64_t step, Dim size) {
  Dim zero = build.size(0), one = build.size(1);
  Dim low = step > 0 ? zero : one * -1, high = step > 0 ? size : size - 1;
  FailureOr<Dim> from = resolveBound(build, start, size, zero, high),
                 to = resolveBound(build, end, size, low, high);
  if (failed(from) || failed(to))
    return failure();
  Dim distance = step > 0 ? *to - *from : *from - *to;
  return Range{*from, distance.max(zero).ceilDiv(build.size(std::abs(step)))};
}

struct SliceBounds {
  SmallVector<Dim> starts, ends;
  SmallVector<int64_t> axes, steps;
};

/// Ops with attributes (before opset 10) and with inputs, in one form.
FailureOr<SliceBounds> readBounds(NodeReader &node) {
  SliceBounds bounds;
  std::optional<SmallVector<int64_t>> axes, steps;
  auto toDims = [&](ArrayRef<int64_t> values) {
    return llvm::map_to_vector(values, [&](int64_t value) { return node.build.size(value); });
  };
  if (node.opset() < 10) {
    bounds.starts = toDims(node.integers("starts").value_or(SmallVector<int64_t>()));
    bounds.ends = toDims(node.integers("ends").value_or(SmallVector<int64_t>()));
    axes = node.integers("axes");
  } else {
    if (!node.input(1) || !node.input(2))
      return node.error() << "needs starts and ends";
    FailureOr<SmallVector<Dim>> starts = node.dims(1, "the list of starts"),
                                ends = node.dims(2, "the list of ends");
    if (failed(starts) || failed(ends))
      return failure();
    bounds.starts = *starts, bounds.ends = *ends;
    for (auto [index, list] : {std::pair(3, &axes), std::pair(4, &steps)}) {
      if (!node.input(index))
        continue;
      FailureOr<SmallVector<int64_t>> values =
          node.constants(index, index == 3 ? "the list of axes" : "the list of steps");
      if (failed(values))
        return failure();
      *list = *values;
    }
  }
  size_t count = bounds.starts.size();
  bounds.axes = axes.value_or(llvm::to_vector(llvm::seq<int64_t>(0, count)));
  bounds.steps = steps.value_or(SmallVector<int64_t>(count, 1));
  if (bounds.ends.size() != count || bounds.axes.size() != count || bounds.steps.size() != count)
    return node.error() << "has " << count << " starts, " << bounds.ends.size() << " ends, "
                        << bounds.axes.size() << " axes and " << bounds.steps.size() << " steps";
  return bounds;
}

LogicalResult importSlice(NodeReader &node) {
  GraphBuilder &build = node.build;
  FailureOr<SliceBounds> bounds = readBounds(node);
  if (failed(bounds))
    return failure();
  Value result = node.input(0);
  for (auto [given, start, end, step] :
       llvm::zip(bounds->axes, bounds->starts, bounds->ends, bounds->steps)) {
    FailureOr<int64_t> axis = node.normalAxis(given, tensorType(result).getRank());
    if (failed(axis))
      return failure();
    if (step == 0 || step == std::numeric_limits<int64_t>::min())
      return node.error() << "its step must not be " << step;
    FailureOr<Range> range =
        resolveRange(build, start, end, step, tensorType(result).getDim(*axis));
    if (failed(range))
      return failure();
    result = build.slice(result, *axis, range->start, range->length, step);
    if (!result)
      return failure();
  }
  return node.output(result);
}

/// The sizes of the parts: given as attribute or input, or equal, the last one taking what is left
/// (opset 18).
FailureOr<SmallVector<Dim>> partSizes(NodeReader &node, Dim total) {
  GraphBuilder &build = node.build;
  if (node.input(1))
    return node.dims(1, "the list of parts");
  if (auto given = node.integers("split"))
    return llvm::map_to_vector(*given, [&](int64_t size) { return build.size(size); });
  int64_t count = node.integer("num_outputs", node.outputCount());
  if (count < 1 || count != static_cast<int64_t>(node.outputCount()))
    return node.error() << "asks for " << count << " parts and names " << node.outputCount()
                        << " outputs";
  Dim part = total.ceilDiv(build.size(count));
  Dim last = total - part * (count - 1);
  bool exact = part == last || node.opset() >= 18;
  if (!exact && failed(build.getFacts().requireEqual(build.getLocation(), last, part,
                                                     "a split into equal parts")))
    return failure();
  SmallVector<Dim> sizes(count, part);
  sizes.back() = last;
  return sizes;
}

LogicalResult importSplit(NodeReader &node) {
  GraphBuilder &build = node.build;
  FailureOr<int64_t> axis =
      node.normalAxis(node.integer("axis", 0), tensorType(node.input(0)).getRank());
  if (failed(axis))
    return failure();
  FailureOr<SmallVector<Dim>> sizes = partSizes(node, tensorType(node.input(0)).getDim(*axis));
  if (failed(sizes))
    return failure();
  if (sizes->size() != node.outputCount())
    return node.error() << "has " << sizes->size() << " parts and " << node.outputCount()
                        << " outputs";
  Dim sum = build.size(0);
  for (Dim size : *sizes) {
    if (failed(build.getFacts().requireAtMost(build.getLocation(), build.size(0), size,
                                              "a part is not negative")))
      return failure();
    sum = sum + size;
  }
  if (failed(build.getFacts().requireEqual(build.getLocation(), sum,
                                           tensorType(node.input(0)).getDim(*axis),
                                           "the parts of a split fill the axis")))
    return failure();
  Dim start = build.size(0);
  for (auto [index, size] : llvm::enumerate(*sizes)) {
    if (failed(node.output(build.slice(node.input(0), *axis, start, size), index)))
      return failure();
    start = start + size;
  }
  return success();
}

} // namespace

ArrayRef<NodeRule> sliceRules() {
  static constexpr NodeRule kRules[] = {
      {"Slice", 1, 1, importSlice},
      {"Split", 1, 1, importSplit},
  };
  return kRules;
}

} // namespace smelt::frontend
