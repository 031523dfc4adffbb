// Method: a part is followed from the weight through each op that moves elements. Reshapes leave it as
// it is: offsets are row-major. For the others its loops are taken apart so that each goes along one
// axis, whose step or start then changes.
#include "codegen/weight_parts.h"

#include "codegen/element_type.h"

#include "llvm/ADT/TypeSwitch.h"

#include <tuple>

using namespace mlir;

namespace smelt::codegen {

namespace {

/// A loop along one axis of the target.
struct AxisLoop {
  uint64_t count, sourceStride, step;
};

/// A part whose loops go along axes.
struct AxisPart {
  WeightOp source;
  uint64_t sourceOffset = 0;
  SmallVector<uint64_t> start;
  SmallVector<SmallVector<AxisLoop>> loops; ///< of each axis
};

using Extents = SmallVector<uint64_t>;
using PartList = SmallVector<WeightPart>;

Extents sizesOf(Value value) {
  return llvm::map_to_vector(tensorType(value).getStaticShape(),
                             [](int64_t size) { return static_cast<uint64_t>(size); });
}

/// Elements between neighbours along each axis.
Extents distancesOf(ArrayRef<uint64_t> sizes) {
  Extents distances(sizes.size(), 1);
  for (size_t axis = sizes.size(); axis-- > 1;)
    distances[axis - 1] = distances[axis] * sizes[axis];
  return distances;
}

/// Gives `loop` to the axes that it goes along; false where it goes along them unevenly.
bool addLoop(plan::CopyLoop loop, ArrayRef<uint64_t> sizes, ArrayRef<uint64_t> distances,
             AxisPart &part) {
  uint64_t count = loop.count(), source = loop.source_stride(), target = loop.target_stride();
  for (size_t axis = sizes.size(); axis-- > 0 && count > 1;) {
    uint64_t distance = distances[axis], size = sizes[axis];
    if (target % distance != 0 || target >= distance * size)
      continue;
    uint64_t step = target / distance, most = size / step;
    bool isWhole = count <= most;
    if (!isWhole && (size % step != 0 || count % most != 0))
      return false;
    uint64_t taken = isWhole ? count : most;
    part.loops[axis].push_back({taken, source, step});
    count /= taken;
    source *= taken;
    target *= taken;
  }
  return count <= 1;
}

/// False where a loop leaves its axis.
bool staysInside(const AxisPart &part, ArrayRef<uint64_t> sizes) {
  for (auto [start, loops, size] : llvm::zip_equal(part.start, part.loops, sizes)) {
    uint64_t last = start;
    for (const AxisLoop &loop : loops)
      last += (loop.count - 1) * loop.step;
    if (last >= size)
      return false;
  }
  return true;
}

std::optional<AxisPart> alongAxes(const WeightPart &part, ArrayRef<uint64_t> sizes) {
  Extents distances = distancesOf(sizes);
  AxisPart result{part.source, part.sourceOffset, {}, {}};
  result.loops.resize(sizes.size());
  for (auto [distance, size] : llvm::zip_equal(distances, sizes))
    result.start.push_back(part.targetOffset / distance % size);
  for (const plan::CopyLoop &loop : part.loops)
    if (!addLoop(loop, sizes, distances, result))
      return std::nullopt;
  return staysInside(result, sizes) ? std::optional(std::move(result)) : std::nullopt;
}

/// Loops that go on where another ends become one.
void mergeLoops(SmallVector<plan::CopyLoop> &loops) {
  llvm::erase_if(loops, [](const plan::CopyLoop &loop) { return loop.count() == 1; });
  llvm::sort(loops, [](const plan::CopyLoop &a, const plan::CopyLoop &b) {
    return std::tuple(b.target_stride(), b.source_stride()) <
           std::tuple(a.target_stride(), a.source_stride());
  });
  SmallVector<plan::CopyLoop> merged;
  for (const plan::CopyLoop &loop : loops) {
    bool continues = !merged.empty() &&
                     merged.back().target_stride() == loop.count() * loop.target_stride() &&
                     merged.back().source_stride() == loop.count() * loop.source_stride();
    if (continues)
      merged.back() = {merged.back().count() * loop.count(), loop.source_stride(),
                       loop.target_stride()};
    else
      merged.push_back(loop);
  }
  loops = std::move(merged);
}

WeightPart flattened(const AxisPart &part, ArrayRef<uint64_t> sizes) {
  Extents distances = distancesOf(sizes);
  WeightPart result{part.source, part.sourceOffset, 0, {}};
  for (auto [start, loops, distance] : llvm::zip_equal(part.start, part.loops, distances)) {
    result.targetOffset += start * distance;
    for (const AxisLoop &loop : loops)
      result.loops.emplace_back(loop.count, loop.sourceStride, loop.step * distance);
  }
  mergeLoops(result.loops);
  return result;
}

AxisPart transposed(const AxisPart &part, TransposeOp op) {
  AxisPart result{part.source, part.sourceOffset, {}, {}};
  for (int64_t from : op.getPermutation()) {
    result.start.push_back(part.start[from]);
    result.loops.push_back(part.loops[from]);
  }
  return result;
}

AxisPart expanded(const AxisPart &part, ArrayRef<uint64_t> from, ArrayRef<uint64_t> to) {
  AxisPart result{part.source, part.sourceOffset, {}, {}};
  size_t added = to.size() - from.size();
  for (size_t axis = 0; axis < to.size(); ++axis) {
    bool isKept = axis >= added && from[axis - added] == to[axis];
    result.start.push_back(isKept ? part.start[axis - added] : 0);
    result.loops.emplace_back();
    if (isKept)
      result.loops.back() = part.loops[axis - added];
    else if (to[axis] > 1)
      result.loops.back().push_back({to[axis], 0, 1});
  }
  return result;
}

/// The part of `part` that lies in [first, first + size) of an axis; none where it is no such part.
/// `isEmpty` tells whether nothing of it does.
std::optional<AxisPart> cut(AxisPart part, size_t axis, uint64_t first, uint64_t size,
                            bool &isEmpty) {
  uint64_t &start = part.start[axis];
  SmallVector<AxisLoop> &loops = part.loops[axis];
  uint64_t last = start;
  for (const AxisLoop &loop : loops)
    last += (loop.count - 1) * loop.step;
  isEmpty = last < first || start >= first + size;
  if (isEmpty || (start >= first && last < first + size)) {
    start -= isEmpty ? 0 : first;
    return part;
  }
  if (loops.size() != 1)
    return std::nullopt;
  AxisLoop &loop = loops[0];
  uint64_t skipped = start < first ? llvm::divideCeil(first - start, loop.step) : 0;
  uint64_t end = std::min(loop.count, (first + size - 1 - start) / loop.step + 1);
  isEmpty = skipped >= end;
  if (isEmpty)
    return part;
  part.sourceOffset += skipped * loop.sourceStride;
  start = start + skipped * loop.step - first;
  loop.count = end - skipped;
  return part;
}

/// Follows parts; the first op that cannot be followed is remembered.
class Follower {
public:
  std::optional<PartList> follow(Value value) {
    Operation *op = value.getDefiningOp();
    std::optional<PartList> parts =
        llvm::TypeSwitch<Operation *, std::optional<PartList>>(op)
            .Case<WeightOp>([](auto weight) { return whole(weight); })
            .Case<ConstantOp>([](auto) { return PartList(); })
            .Case<ReshapeOp>([&](auto reshape) { return follow(reshape.getInput()); })
            .Case<CastOp>([&](auto cast) { return throughCast(cast); })
            .Case<TransposeOp>([&](auto transpose) {
              return map(transpose.getInput(), transpose.getOutput(),
                         [&](const AxisPart &part) { return transposed(part, transpose); });
            })
            .Case<ExpandOp>([&](auto expand) {
              Extents from = sizesOf(expand.getInput()), to = sizesOf(expand.getOutput());
              return map(expand.getInput(), expand.getOutput(),
                         [&](const AxisPart &part) { return expanded(part, from, to); });
            })
            .Case<SliceOp>([&](auto slice) { return throughSlice(slice); })
            .Case<ConcatOp>([&](auto concat) { return throughConcat(concat); })
            .Default([](Operation *) { return std::nullopt; });
    if (!parts && !firstObstacle)
      firstObstacle = op;
    return parts;
  }

  Operation *obstacle() const { return firstObstacle; }

private:
  static PartList whole(WeightOp weight) {
    auto count =
        static_cast<uint64_t>(*tensorType(weight.getOutput()).getNumElements().asConstant());
    if (count == 0)
      return {};
    WeightPart part{weight, 0, 0, {plan::CopyLoop(count, 1, 1)}};
    mergeLoops(part.loops);
    return {part};
  }

  /// Only of the weight's own elements: two roundings are not one.
  std::optional<PartList> throughCast(CastOp cast) {
    std::optional<PartList> parts = follow(cast.getInput());
    Type from = tensorType(cast.getInput()).getElementType(),
         to = tensorType(cast.getOutput()).getElementType();
    if (!parts || !plan::isConvertible(planElementType(from), planElementType(to)))
      return std::nullopt;
    for (const WeightPart &part : *parts)
      if (tensorType(WeightOp(part.source).getOutput()).getElementType() != from)
        return std::nullopt;
    return parts;
  }

  template <typename Move>
  std::optional<PartList> map(Value input, Value output, const Move &move) {
    std::optional<PartList> parts = follow(input);
    if (!parts)
      return std::nullopt;
    PartList result;
    for (const WeightPart &part : *parts) {
      std::optional<AxisPart> along = alongAxes(part, sizesOf(input));
      if (!along)
        return std::nullopt;
      result.push_back(flattened(move(*along), sizesOf(output)));
    }
    return result;
  }

  std::optional<PartList> throughSlice(SliceOp slice) {
    std::optional<PartList> parts = follow(slice.getInput());
    if (!parts || !llvm::all_of(slice.getSteps(), [](int64_t step) { return step == 1; }))
      return std::nullopt;
    Extents to = sizesOf(slice.getOutput());
    PartList result;
    for (const WeightPart &part : *parts) {
      std::optional<AxisPart> kept = alongAxes(part, sizesOf(slice.getInput()));
      bool isEmpty = false;
      for (size_t axis = 0; kept && !isEmpty && axis < to.size(); ++axis) {
        std::optional<int64_t> first = Dim(cast<DimAttr>(slice.getStarts()[axis])).asConstant();
        kept = first ? cut(*kept, axis, static_cast<uint64_t>(*first), to[axis], isEmpty)
                     : std::nullopt;
      }
      if (!kept)
        return std::nullopt;
      if (!isEmpty)
        result.push_back(flattened(*kept, to));
    }
    return result;
  }

  std::optional<PartList> throughConcat(ConcatOp concat) {
    PartList result;
    uint64_t start = 0;
    size_t axis = concat.getAxis();
    for (Value input : concat.getInputs()) {
      std::optional<PartList> parts = map(input, concat.getOutput(), [&](AxisPart part) {
        part.start[axis] += start;
        return part;
      });
      if (!parts)
        return std::nullopt;
      result.append(*parts);
      start += sizesOf(input)[axis];
    }
    return result;
  }

  Operation *firstObstacle = nullptr;
};

} // namespace

WeightParts weightPartsOf(Value value) {
  Follower follower;
  std::optional<PartList> parts = follower.follow(value);
  if (!parts)
    return {{}, follower.obstacle()};
  for (const WeightPart &part : *parts)
    if (part.loops.size() > plan::kMaxCopyLoops)
      return {{}, value.getDefiningOp()};
  return {std::move(*parts), nullptr};
}

} // namespace smelt::codegen
