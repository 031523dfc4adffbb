// Parts of images that data give, brought to one size: RoiAlign and MaxRoiPool.
#include "frontend/node_table.h"
#include "frontend/ops/expression.h"
#include "frontend/ops/window.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

Type sumTypeOf(NodeReader &node) {
  Type type = tensorType(node.input(0)).getElementType();
  return type.isF64() ? type : Type(Float32Type::get(type.getContext()));
}

/// Column `index` of input 1, the regions, in the type of sums, [regions, 1].
Expression column(NodeReader &node, int64_t index) {
  GraphBuilder &build = node.build;
  Value own = build.slice(node.input(1), 1, build.size(index), build.size(1));
  return {build, build.cast(own, sumTypeOf(node))};
}

/// Images [N, C, H, W] of at least a pixel, and regions of `columns` numbers.
LogicalResult checkRegions(NodeReader &node, int64_t columns) {
  GraphBuilder &build = node.build;
  TensorType images = tensorType(node.input(0)), regions = tensorType(node.input(1));
  if (images.getRank() != 4 || regions.getRank() != 2)
    return node.error() << "needs images [N, C, H, W] and a matrix of regions, got "
                        << node.describe(0) << " and " << node.describe(1);
  if (failed(node.requireSameType({0, 1})) ||
      failed(build.getFacts().requireEqual(build.getLocation(), regions.getDim(1),
                                           build.size(columns), "a region has so many numbers")))
    return failure();
  for (int64_t axis : {2, 3})
    if (failed(build.getFacts().requireAtMost(build.getLocation(), build.size(1),
                                              tensorType(node.input(0)).getDim(axis),
                                              "an image that is sampled has a pixel")))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// RoiAlign
//===----------------------------------------------------------------------===//

struct Alignment {
  SmallVector<int64_t> size; ///< of a result, its height and its width
  int64_t samples;           ///< of each of its pixels, along each axis
  double scale, offset;
  bool isMax;
};

FailureOr<Alignment> readAlignment(NodeReader &node) {
  Alignment result;
  std::string mode = node.text("mode", "avg"),
              moves = node.text("coordinate_transformation_mode", "half_pixel");
  if (mode != "avg" && mode != "max")
    return node.error() << "mode '" << mode << "' is neither 'avg' nor 'max'";
  if (moves != "half_pixel" && moves != "output_half_pixel")
    return node.error() << "coordinate_transformation_mode '" << moves << "' is unknown";
  result.isMax = mode == "max";
  result.offset = moves == "half_pixel" && node.opset() >= 16 ? 0.5 : 0;
  result.scale = node.real("spatial_scale", 1);
  result.samples = node.integer("sampling_ratio", 0);
  result.size = {node.integer("output_height", 1), node.integer("output_width", 1)};
  if (result.samples == 0)
    return node.error() << "as many samples as a region has pixels (sampling_ratio = 0) is not "
                           "supported: their number depends on the data";
  for (int64_t count : {result.samples, result.size[0], result.size[1]})
    if (count < 1 || count > kLargestStep)
      return node.error() << "cannot make " << result.size[0] << " by " << result.size[1]
                          << " pixels of " << result.samples << " samples";
  return result;
}

/// The two neighbours of each sample along one axis, [regions, samples]: indices and weights.
struct Neighbours {
  Expression index[2], weight[2];
};

/// `start` and `end` are those of the regions; samples more than a pixel outside weigh nothing.
Neighbours findNeighbours(const Alignment &alignment, Expression start, Expression end, Dim size,
                          int64_t pixels) {
  GraphBuilder &build = start.build();
  Type type = tensorType(start.value()).getElementType(),
       i64 = IntegerType::get(build.getContext(), 64);
  start = start * alignment.scale - alignment.offset;
  end = end * alignment.scale - alignment.offset;
  Expression length = end - start;
  if (alignment.offset == 0)
    length = maximum(length, length.number(1));
  auto samples = static_cast<double>(alignment.samples);
  Expression step = (countTo(build, build.size(pixels * alignment.samples), type) + 0.5) / samples;
  Expression position = start + length / static_cast<double>(pixels) * step;
  Expression extent = sizeAs(build, size, type), last = sizeAs(build, size - 1, type);
  Expression isOutside = either(position < -1, extent < position);
  position = minimum(maximum(position, position.number(0)), last);
  Expression low = floor(position), far = position - low, index = low.as(i64);
  Expression next = minimum(index + 1, sizeAs(build, size - 1, i64));
  auto weigh = [&](Expression weight) { return select(isOutside, weight.number(0), weight); };
  return {{index, next}, {weigh(1 - far), weigh(far)}};
}

/// All pixels as rows of channels.
Value pixelRows(GraphBuilder &build, Value images) {
  SmallVector<Dim> shape = tensorType(images).getShape();
  return build.reshape(build.transpose(images, {0, 2, 3, 1}),
                       {shape[0] * shape[2] * shape[3], shape[1]});
}

/// Sums, or maxima, of the four weighed neighbours of each sample: [regions, rows, columns, C].
Value sampleRegions(NodeReader &node, const Alignment &alignment, const Neighbours &rows,
                    const Neighbours &columns) {
  GraphBuilder &build = node.build;
  TensorType images = tensorType(node.input(0));
  Type i64 = IntegerType::get(build.getContext(), 64);
  Dim regions = tensorType(node.input(1)).getDim(0), one = build.size(1),
      height = build.size(alignment.size[0] * alignment.samples),
      width = build.size(alignment.size[1] * alignment.samples);
  Expression image =
      Expression(build, build.cast(node.input(2), i64)).reshaped({regions, one, one});
  Value pixels = pixelRows(build, node.input(0)), result;
  for (int row : {0, 1})
    for (int side : {0, 1}) {
      Expression y = rows.index[row].reshaped({regions, height, one}),
                 x = columns.index[side].reshaped({regions, one, width});
      Expression place = (image * sizeAs(build, images.getDim(2), i64) + y) *
                             sizeAs(build, images.getDim(3), i64) +
                         x;
      Expression weight = rows.weight[row].reshaped({regions, height, one, one}) *
                          columns.weight[side].reshaped({regions, one, width, one});
      Value read =
          build.create<GatherOp>({pixels, place.value()}, build.attribute("axis", int64_t{0}));
      Value part = build.create<MulOp>({build.cast(read, sumTypeOf(node)), weight.value()});
      if (!result)
        result = part;
      else
        result = alignment.isMax ? build.create<MaxOp>({result, part})
                                 : build.create<AddOp>({result, part});
    }
  return result;
}

LogicalResult importRoiAlign(NodeReader &node) {
  GraphBuilder &build = node.build;
  FailureOr<Alignment> alignment = readAlignment(node);
  if (failed(alignment) || failed(checkRegions(node, 4)))
    return failure();
  TensorType batch = tensorType(node.input(2));
  if (batch.getRank() != 1 || failed(build.getFacts().requireEqual(
                                  build.getLocation(), batch.getDim(0),
                                  tensorType(node.input(1)).getDim(0), "each region has an image")))
    return node.error() << node.describe(2) << " must number the image of each region";
  TensorType images = tensorType(node.input(0));
  Neighbours rows = findNeighbours(*alignment, column(node, 1), column(node, 3), images.getDim(2),
                                   alignment->size[0]),
             columns = findNeighbours(*alignment, column(node, 0), column(node, 2),
                                      images.getDim(3), alignment->size[1]);
  Value samples = sampleRegions(node, *alignment, rows, columns);
  if (!samples)
    return failure();
  Dim regions = tensorType(node.input(1)).getDim(0), each = build.size(alignment->samples),
      height = build.size(alignment->size[0]), width = build.size(alignment->size[1]);
  samples = build.reshape(samples, {regions, height, each, width, each, images.getDim(1)});
  Value pooled =
      build.reduce(alignment->isMax ? ReductionKind::max : ReductionKind::mean, samples, {2, 4});
  pooled = build.reshape(pooled, {regions, height, width, images.getDim(1)});
  return node.output(build.cast(build.transpose(pooled, {0, 3, 1, 2}), images.getElementType()));
}

//===----------------------------------------------------------------------===//
// MaxRoiPool
//===----------------------------------------------------------------------===//

/// Halves away from zero.
Expression rounded(Expression x) { return select(x < 0, ceil(x - 0.5), floor(x + 0.5)); }

/// The pixels of each part of the regions along one axis, [regions, parts]: from `begin` up to `end`.
struct Parts {
  Expression begin, end;
};

/// A part begins and ends at whole pixels, of which neighbours may share one.
Parts cutRegions(NodeReader &node, int64_t firstColumn, int64_t count, Dim size) {
  GraphBuilder &build = node.build;
  Type i64 = IntegerType::get(build.getContext(), 64);
  double scale = node.real("spatial_scale", 1), parts = static_cast<double>(count);
  Expression start = rounded(column(node, firstColumn) * scale).as(i64),
             last = rounded(column(node, firstColumn + 2) * scale).as(i64);
  Expression length = maximum(last - start + 1, start.number(1));
  Expression part = countTo(build, build.size(count), i64), extent = sizeAs(build, size, i64);
  auto within = [&](Expression x) { return minimum(maximum(x + start, x.number(0)), extent); };
  return {within(length * part / parts), within((length * (part + 1) + (parts - 1)) / parts)};
}

/// The largest of each part along the last axis: [regions, C, rows, size] => [regions, C, rows, parts].
Value reduceParts(NodeReader &node, Value images, const Parts &parts, int64_t count) {
  GraphBuilder &build = node.build;
  if (!images)
    return {};
  SmallVector<Dim> shape = tensorType(images).getShape();
  Dim one = build.size(1), number = build.size(count);
  Expression place = countTo(build, shape[3], IntegerType::get(build.getContext(), 64));
  SmallVector<Dim> ends{shape[0], one, one, number, one};
  Expression isInside = parts.begin.reshaped(ends).apply<LessEqualOp>(place).apply<AndOp>(
      place < parts.end.reshaped(ends));
  Expression pixels(build, build.reshape(images, {shape[0], shape[1], shape[2], one, shape[3]}));
  Value held =
      select(isInside, pixels, pixels.number(-std::numeric_limits<double>::infinity())).value();
  Value largest = held ? build.reduce(ReductionKind::max, held, 4) : Value();
  return build.reshape(largest, {shape[0], shape[1], shape[2], number});
}

/// Parts outside the image are 0.
LogicalResult importMaxRoiPool(NodeReader &node) {
  GraphBuilder &build = node.build;
  FailureOr<SmallVector<int64_t>> size = readSizes(node, "pooled_shape", 2, 1, 1);
  if (failed(size) || failed(checkRegions(node, 5)))
    return failure();
  TensorType type = tensorType(node.input(0));
  Dim regions = tensorType(node.input(1)).getDim(0), one = build.size(1);
  Expression number = column(node, 0).as(IntegerType::get(build.getContext(), 64));
  Value images = build.create<GatherOp>({node.input(0), number.reshaped(regions).value()},
                                        build.attribute("axis", int64_t{0}));
  Parts rows = cutRegions(node, 2, (*size)[0], type.getDim(2)),
        columns = cutRegions(node, 1, (*size)[1], type.getDim(3));
  Value result = build.transpose(reduceParts(node, images, columns, (*size)[1]), {0, 1, 3, 2});
  result = build.transpose(reduceParts(node, result, rows, (*size)[0]), {0, 1, 3, 2});
  auto isEmpty = [&](const Parts &parts, ArrayRef<Dim> shape) {
    return parts.end.apply<LessEqualOp>(parts.begin).reshaped(shape);
  };
  Expression hasNone = either(isEmpty(rows, {regions, one, build.size((*size)[0]), one}),
                              isEmpty(columns, {regions, one, one, build.size((*size)[1])}));
  Expression pooled(build, result);
  return node.output(select(hasNone, pooled.number(0), pooled).value());
}

} // namespace

ArrayRef<NodeRule> regionRules() {
  static constexpr NodeRule kRules[] = {
      {"MaxRoiPool", 1, 2, importMaxRoiPool},
      {"RoiAlign", 10, 3, importRoiAlign},
  };
  return kRules;
}

} // namespace smelt::frontend
