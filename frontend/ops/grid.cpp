// Images read at positions that data give, and the positions that affine maps give.
#include "frontend/ops/grid.h"

#include "frontend/node_table.h"
#include "frontend/ops/resample.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

enum class Surroundings { zeros, border, reflection };

struct GridSampling {
  Interpolation mode = Interpolation::linear;
  Surroundings surroundings = Surroundings::zeros;
  bool alignCorners = false;
};

/// One neighbour along one axis, each [batch, positions]: its index, which always lies within the
/// axis; its weight; and whether it lies inside the image itself.
struct GridTap {
  Expression index, weight, isInside;
};

FailureOr<GridSampling> readGridSampling(NodeReader &node) {
  GridSampling result;
  std::string mode = node.text("mode", node.opset() >= 20 ? "linear" : "bilinear"),
              padding = node.text("padding_mode", "zeros");
  if (mode == "nearest")
    result.mode = Interpolation::nearest;
  else if (mode == "cubic" || mode == "bicubic")
    result.mode = Interpolation::cubic;
  else if (mode != "linear" && mode != "bilinear")
    return node.error() << "mode '" << mode << "' is unknown";
  if (padding == "border")
    result.surroundings = Surroundings::border;
  else if (padding == "reflection")
    result.surroundings = Surroundings::reflection;
  else if (padding != "zeros")
    return node.error() << "padding_mode '" << padding << "' is unknown";
  result.alignCorners = node.flag("align_corners");
  return result;
}

/// What lies at both ends of an axis, between which positions are reflected.
struct GridBorder {
  Expression low, high;
};

GridBorder borderOf(Expression size, bool alignCorners) {
  return alignCorners ? GridBorder{size.number(0), size - 1}
                      : GridBorder{size.number(-0.5), size - 0.5};
}

Expression isWithin(Expression x, Expression low, Expression high) {
  return low.apply<LessEqualOp>(x).apply<AndOp>(x.apply<LessEqualOp>(high));
}

/// Back and forth between the ends; an axis of one element has no span, and any other will do.
Expression reflect(Expression x, const GridBorder &border) {
  Expression span = maximum(border.high - border.low, x.number(1));
  Expression along = abs(x - border.low).apply<ModOp>(span * 2);
  Expression reflected = border.low + span - abs(along - span);
  return select(isWithin(x, border.low, border.high), x, reflected);
}

/// The same of integers: which element of the axis stands there.
Expression reflectIndex(Expression index, Dim size, bool alignCorners) {
  Expression extent = sizeAs(index.build(), size, IntegerType::get(index.build().getContext(), 64));
  Expression period = alignCorners ? maximum((extent - 1) * 2, extent.number(1)) : extent * 2;
  Expression along = index.apply<ModOp>(period),
             back = alignCorners ? period - along : period - 1 - along;
  return minimum(along, back);
}

Expression clamp(Expression x, Expression low, Expression high) {
  return minimum(maximum(x, low), high);
}

/// Positions of an axis of `size` elements, from ones in [-1, 1]. Neighbours of those far outside
/// are outside too.
Expression toPositions(Expression normalized, Expression size, const GridSampling &sampling) {
  constexpr double kReach = 8;
  Expression x =
      sampling.alignCorners ? (normalized + 1) / 2 * (size - 1) : ((normalized + 1) * size - 1) / 2;
  if (sampling.mode == Interpolation::nearest)
    return x.apply<RoundOp>();
  GridBorder border = borderOf(size, sampling.alignCorners);
  if (sampling.surroundings == Surroundings::zeros)
    return clamp(x, x.number(-kReach), size + kReach);
  if (sampling.surroundings == Surroundings::reflection)
    return reflect(x, border);
  return select(isWithin(x, border.low, border.high), x, clamp(x, x.number(0), size - 1));
}

GridTap makeGridTap(Expression index, Expression weight, Dim size, const GridSampling &sampling) {
  Expression last =
      sizeAs(index.build(), size - 1, IntegerType::get(index.build().getContext(), 64));
  Expression zero = last.number(0), isInside = isWithin(index, zero, last);
  if (sampling.surroundings == Surroundings::reflection)
    index = reflectIndex(index, size, sampling.alignCorners);
  return {clamp(index, zero, last), weight, isInside};
}

/// The neighbours that count along one axis.
SmallVector<GridTap> findGridTaps(Expression x, Dim size, const GridSampling &sampling) {
  constexpr double kCubicCoefficient = -0.75;
  Type i64 = IntegerType::get(x.build().getContext(), 64);
  if (sampling.mode == Interpolation::nearest)
    return {makeGridTap(x.as(i64), x.number(1), size, sampling)};
  Expression base = floor(x), distance = x - base;
  bool isCubic = sampling.mode == Interpolation::cubic;
  SmallVector<GridTap> taps;
  for (int64_t offset = isCubic ? -1 : 0; offset <= (isCubic ? 2 : 1); ++offset) {
    auto number = static_cast<double>(offset);
    Expression weight = isCubic       ? cubicWeight(abs(distance - number), kCubicCoefficient)
                        : offset == 0 ? 1 - distance
                                      : distance;
    taps.push_back(makeGridTap(base.as(i64) + number, weight, size, sampling));
  }
  return taps;
}

/// An image [batch, channels, pixels] and the neighbours of the positions, by axis.
struct GridImage {
  Value pixels;
  SmallVector<Dim> sizes;
  SmallVector<SmallVector<GridTap>> taps;
  Type type; // of weights and sums
};

/// Sums over the neighbours along the axes from `axis` on, for one neighbour along each before.
Value sumTaps(GraphBuilder &build, const GridImage &image, const GridSampling &sampling,
              size_t axis, std::optional<GridTap> chosen) {
  if (axis < image.sizes.size()) {
    Value sum;
    for (const GridTap &tap : image.taps[axis]) {
      GridTap both = tap;
      if (chosen) {
        Type i64 = IntegerType::get(build.getContext(), 64);
        both.index = chosen->index * sizeAs(build, image.sizes[axis], i64) + tap.index;
        both.weight = chosen->weight * tap.weight;
        both.isInside = chosen->isInside.apply<AndOp>(tap.isInside);
      }
      Value part = sumTaps(build, image, sampling, axis + 1, both);
      sum = sum ? build.create<AddOp>({sum, part}) : part;
    }
    return sum;
  }
  if (!chosen->index.value())
    return {};
  SmallVector<Dim> shape = tensorType(image.pixels).getShape(),
                   positions = tensorType(chosen->index.value()).getShape();
  SmallVector<Dim> table{positions[0], build.size(1), positions[1]};
  shape[2] = positions[1];
  Value indices = build.expand(chosen->index.reshaped(table).value(), shape);
  Expression pixel(build, build.create<GatherElementsOp>({image.pixels, indices},
                                                         build.attribute("axis", int64_t{2})));
  if (sampling.surroundings == Surroundings::zeros)
    pixel = select(chosen->isInside.reshaped(table), pixel, pixel.number(0));
  if (sampling.mode == Interpolation::nearest)
    return pixel.value();
  return (pixel.as(image.type) * chosen->weight.reshaped(table)).value();
}

LogicalResult checkGridShapes(NodeReader &node, int64_t spatial) {
  GraphBuilder &build = node.build;
  TensorType grid = tensorType(node.input(1));
  if (spatial < 1 || grid.getRank() != spatial + 2 ||
      failed(build.getFacts().requireEqual(build.getLocation(), grid.getDim(spatial + 1),
                                           build.size(spatial),
                                           "a position has a coordinate for each axis")))
    return node.error() << "its grid " << node.describe(1) << " does not fit " << node.describe(0);
  if (failed(build.getFacts().requireEqual(build.getLocation(), tensorType(node.input(0)).getDim(0),
                                           tensorType(node.input(1)).getDim(0),
                                           "each image has a grid")))
    return failure();
  for (int64_t axis = 2; axis < spatial + 2; ++axis)
    if (failed(build.getFacts().requireAtMost(build.getLocation(), build.size(1),
                                              tensorType(node.input(0)).getDim(axis),
                                              "an image that is sampled has a pixel")))
      return failure();
  return success();
}

LogicalResult importGridSample(NodeReader &node) {
  GraphBuilder &build = node.build;
  FailureOr<GridSampling> sampling = readGridSampling(node);
  int64_t spatial = static_cast<int64_t>(tensorType(node.input(0)).getRank()) - 2;
  if (failed(sampling) || failed(checkGridShapes(node, spatial)))
    return failure();
  Type element = tensorType(node.input(0)).getElementType();
  if (sampling->mode != Interpolation::nearest && !isa<FloatType>(element))
    return node.error() << "interpolation of " << node.describe(0) << " is not supported";
  if (spatial > (sampling->mode == Interpolation::cubic ? 2 : 3))
    return node.error() << "interpolation of " << spatial
                        << " axes in this mode is not supported: " << node.describe(0);
  SmallVector<Dim> shape = tensorType(node.input(0)).getShape(),
                   grid = tensorType(node.input(1)).getShape(), result{shape[0], shape[1]};
  bool isWide = element.isF64() || tensorType(node.input(1)).getElementType().isF64();
  GridImage image;
  image.type =
      isWide ? Type(Float64Type::get(build.getContext())) : Float32Type::get(build.getContext());
  image.sizes.assign(shape.begin() + 2, shape.end());
  result.append(grid.begin() + 1, grid.end() - 1);
  Dim count = product(ArrayRef(result).drop_front(2), build.getContext());
  image.pixels =
      build.reshape(node.input(0), {shape[0], shape[1], product(image.sizes, build.getContext())});
  Value flat =
      build.reshape(build.cast(node.input(1), image.type), {shape[0], count, build.size(spatial)});
  for (int64_t axis = 0; axis < spatial; ++axis) { // the grid names the last axis first
    Value column = build.slice(flat, 2, build.size(spatial - 1 - axis), build.size(1));
    Expression normalized(build, build.reshape(column, {shape[0], count}));
    Expression extent = sizeAs(build, image.sizes[axis], image.type);
    image.taps.push_back(
        findGridTaps(toPositions(normalized, extent, *sampling), image.sizes[axis], *sampling));
  }
  Value sum = sumTaps(build, image, *sampling, 0, std::nullopt);
  return node.output(build.reshape(sum ? build.cast(sum, element) : sum, result));
}

/// From -1 to 1 along an axis: the centers of its elements, or its first and its last.
Expression gridCoordinates(GraphBuilder &build, Dim size, bool alignCorners) {
  Type f64 = Float64Type::get(build.getContext());
  Expression x = countTo(build, size, f64), extent = sizeAs(build, size, f64);
  return alignCorners ? x * 2 / maximum(extent - 1, x.number(1)) - 1 : (x * 2 + 1) / extent - 1;
}

/// Each map [axes, axes + 1] of each position, of which the last axis of the image comes first.
LogicalResult importAffineGrid(NodeReader &node) {
  GraphBuilder &build = node.build;
  FailureOr<SmallVector<Dim>> size = node.dims(1, "the size");
  if (failed(size))
    return failure();
  int64_t spatial = static_cast<int64_t>(size->size()) - 2;
  if ((spatial != 2 && spatial != 3) || tensorType(node.input(0)).getRank() != 3)
    return node.error() << "needs maps of two or three axes and a size for them, got "
                        << node.describe(0) << " and " << node.describe(1);
  for (Dim extent : *size)
    if (failed(build.getFacts().requireAtMost(build.getLocation(), build.size(0), extent,
                                              "a tensor's size is not negative")))
      return failure();
  std::array<Dim, 3> wanted{(*size)[0], build.size(spatial), build.size(spatial + 1)};
  for (auto [axis, dim] : llvm::enumerate(wanted))
    if (failed(build.getFacts().requireEqual(build.getLocation(),
                                             tensorType(node.input(0)).getDim(axis), dim,
                                             "each image has an affine map")))
      return failure();
  Type element = tensorType(node.input(0)).getElementType(),
       type = element.isF64() ? element : Float32Type::get(build.getContext());
  Value maps = build.cast(node.input(0), type), sum;
  for (int64_t column = 0; column <= spatial; ++column) {
    SmallVector<Dim> shape(spatial + 2, build.size(1));
    shape.front() = tensorType(node.input(0)).getDim(0), shape.back() = build.size(spatial);
    Value term = build.reshape(build.slice(maps, 2, build.size(column), build.size(1)), shape);
    if (column < spatial) {
      Dim extent = (*size)[spatial + 1 - column];
      SmallVector<Dim> line(spatial + 2, build.size(1));
      line[spatial - column] = extent;
      Expression along = gridCoordinates(build, extent, node.flag("align_corners")).as(type);
      term = build.create<MulOp>({term, along.reshaped(line).value()});
    }
    sum = sum ? build.create<AddOp>({sum, term}) : term;
  }
  return node.output(sum ? build.cast(sum, element) : sum);
}

} // namespace

Value sampleLinear(GraphBuilder &build, Value image, ArrayRef<Expression> positions) {
  constexpr double kReach = 8; // neighbours of those far outside are outside too
  GridSampling sampling;
  SmallVector<Dim> shape = tensorType(image).getShape();
  GridImage pixels;
  pixels.sizes.assign(shape.begin() + 2, shape.end());
  pixels.type = tensorType(positions.front().value()).getElementType();
  pixels.pixels =
      build.reshape(image, {shape[0], shape[1], product(pixels.sizes, build.getContext())});
  for (auto [x, size] : llvm::zip(positions, pixels.sizes)) {
    Expression near = clamp(x, x.number(-kReach), sizeAs(build, size, pixels.type) + kReach);
    pixels.taps.push_back(findGridTaps(near, size, sampling));
  }
  return sumTaps(build, pixels, sampling, 0, std::nullopt);
}

ArrayRef<NodeRule> gridRules() {
  static constexpr NodeRule kRules[] = {
      {"AffineGrid", 20, 2, importAffineGrid},
      {"GridSample", 16, 2, importGridSample},
  };
  return kRules;
}

} // namespace smelt::frontend
