// Resize and Upsample: axes read at positions that scales or sizes give.
#include "frontend/node_table.h"
#include "frontend/ops/resample.h"

#include "ir/interpret/interpret.h"
#include "mlir/IR/Diagnostics.h"

#include <cmath>

using namespace mlir;

namespace smelt::frontend {

namespace {

/// Scales of sizes that vary are fractions of numbers up to this one.
constexpr int64_t kLargestDenominator = 1024;

/// One axis, what becomes of it, and the part of it that is read where the node crops.
struct ResizedAxis {
  int64_t axis;
  Dim from, to;
  /// A number where it is constant, and the value; 0 and the quotient of the sizes where it is not.
  double scale;
  Value scaleValue, width;
  Value start, extent; // of the part that is read, in parts of the axis
};

/// Whether a value follows from constants alone, and from few of them.
bool isSmallConstant(Value value, int depth = 0) {
  constexpr int kMostSteps = 8;
  constexpr int64_t kMostElements = 2 * int64_t{kMaxRank};
  Operation *op = value.getDefiningOp();
  auto count = tensorType(value).getNumElements().asConstant();
  return op && !isa<WeightOp, DimsOp>(op) && depth < kMostSteps && count &&
         *count <= kMostElements && tensorType(value).isStatic() &&
         llvm::all_of(
             op->getOperands(), [&](Value operand) { return isSmallConstant(operand, depth + 1); });
}

/// The elements of a float input that follows from constants alone; none where it does not.
std::optional<SmallVector<double>> constantReals(Value value) {
  ScopedDiagnosticHandler silence(value.getContext(), [](Diagnostic &) { return success(); });
  EvaluateOptions options;
  options.precision = Precision::f64;
  if (!isSmallConstant(value) || !isa<FloatType>(tensorType(value).getElementType()))
    return std::nullopt;
  FailureOr<HostTensor> known = evaluate(value, KnownValues(), Symbols(), options);
  if (failed(known))
    return std::nullopt;
  SmallVector<double> result;
  for (APFloat element : cast<DenseElementsAttr>(known->toAttribute()).getValues<APFloat>()) {
    bool isLossy;
    element.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &isLossy);
    result.push_back(element.convertToDouble());
  }
  return result;
}

/// The input, unless it is omitted or has no elements: opset 11 required it beside sizes.
Value optionalInput(NodeReader &node, size_t index) {
  Value value = node.input(index);
  return value && !tensorType(value).getNumElements().isConstant(0) ? value : Value();
}

/// Empty where the node has sizes.
FailureOr<SmallVector<double>> readScales(NodeReader &node) {
  SmallVector<double> scales;
  bool isUpsample = node.opType() == "Upsample";
  if (isUpsample && node.opset() < 9) {
    for (float scale : node.reals("scales").value_or(SmallVector<float>()))
      scales.push_back(scale);
  } else {
    size_t index = isUpsample || node.opset() < 11 ? 1 : 2;
    if (!optionalInput(node, index))
      return scales;
    auto known = constantReals(node.input(index));
    if (!known) {
      node.build.needValue(node.input(index));
      return node.error() << "the list of scales, " << node.describe(index) << ", must be constant";
    }
    scales = *known;
  }
  for (double scale : scales) {
    bool isUsable = scale > 0 && scale <= static_cast<double>(kMaxElements);
    if (!isUsable) // NaN is not either
      return node.error() << "cannot scale by " << scale;
  }
  return scales;
}

/// The simplest fraction that `scale`, a float32, stands for.
std::optional<std::pair<int64_t, int64_t>> asFraction(double scale) {
  for (int64_t denominator = 1; denominator <= kLargestDenominator; ++denominator) {
    double numerator = std::round(scale * static_cast<double>(denominator));
    bool isSmall = numerator >= 1 && numerator <= std::ldexp(1, 14);
    if (isSmall && static_cast<float>(numerator / static_cast<double>(denominator)) ==
                       static_cast<float>(scale))
      return std::pair(static_cast<int64_t>(numerator), denominator);
  }
  return std::nullopt;
}

/// floor(size * scale), as ONNX's shape inference rounds it: 10 * 0.7 is 7.
FailureOr<Dim> scaledSize(NodeReader &node, Dim size, double scale) {
  if (auto fraction = asFraction(scale))
    return (size * fraction->first).floorDiv(node.build.size(fraction->second));
  if (auto constant = size.asConstant()) {
    float product = std::floor(static_cast<float>(*constant) * static_cast<float>(scale));
    if (product <= static_cast<float>(kMaxElements))
      return node.build.size(static_cast<int64_t>(product));
    return node.error() << "cannot scale " << *constant << " elements by " << scale;
  }
  return node.error() << "its scale " << scale << " is no fraction of whole numbers up to "
                      << kLargestDenominator << "; for an axis that varies, of size "
                      << size.toString() << ", it is not supported";
}

/// Sizes that keep the proportions of the input: no axis larger, or none smaller, than asked for.
LogicalResult keepProportions(NodeReader &node, SmallVectorImpl<ResizedAxis> &axes,
                              bool isSmaller) {
  double scale = 0;
  for (auto [index, axis] : llvm::enumerate(axes)) {
    auto from = axis.from.asConstant(), to = axis.to.asConstant();
    if (!from || !to || *from == 0)
      return node.error() << "keep_aspect_ratio_policy for sizes that vary is not supported: "
                          << node.describe(0);
    double own = static_cast<double>(*to) / static_cast<double>(*from);
    scale = index == 0 ? own : isSmaller ? std::min(scale, own) : std::max(scale, own);
  }
  Type f64 = Float64Type::get(node.build.getContext());
  for (ResizedAxis &axis : axes) {
    double width = scale * static_cast<double>(*axis.from.asConstant());
    if (width > static_cast<double>(kMaxElements))
      return node.error() << "cannot scale " << *axis.from.asConstant() << " elements by " << scale;
    axis.to = node.build.size(static_cast<int64_t>(std::floor(width + 0.5)));
    axis.scale = scale;
    axis.scaleValue = node.build.scalar(scale, f64), axis.width = node.build.scalar(width, f64);
  }
  return success();
}

LogicalResult setSizes(NodeReader &node, SmallVectorImpl<ResizedAxis> &axes) {
  GraphBuilder &build = node.build;
  if (node.opset() < 11 || !optionalInput(node, 3))
    return node.error() << "needs scales or sizes";
  FailureOr<SmallVector<Dim>> sizes = node.dims(3, "the list of sizes");
  if (failed(sizes))
    return failure();
  if (sizes->size() != axes.size())
    return node.error() << "has " << sizes->size() << " sizes for " << axes.size() << " axes of "
                        << node.describe(0);
  Type f64 = Float64Type::get(build.getContext());
  for (auto [axis, size] : llvm::zip(axes, *sizes)) {
    if (failed(build.getFacts().requireAtMost(build.getLocation(), build.size(0), size,
                                              "a tensor's size is not negative")))
      return failure();
    axis.to = size;
    auto from = axis.from.asConstant(), to = size.asConstant();
    if (axis.from == size)
      axis.scale = 1;
    else if (from && to)
      axis.scale = static_cast<double>(*to) / static_cast<double>(*from);
    axis.width = sizeAs(build, size, f64).value();
    axis.scaleValue = (sizeAs(build, size, f64) / sizeAs(build, axis.from, f64)).value();
  }
  std::string policy = node.text("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch")
    return success();
  if (policy != "not_larger" && policy != "not_smaller")
    return node.error() << "keep_aspect_ratio_policy '" << policy << "' is unknown";
  return keepProportions(node, axes, policy == "not_larger");
}

LogicalResult setScales(NodeReader &node, SmallVectorImpl<ResizedAxis> &axes,
                        ArrayRef<double> scales) {
  if (scales.size() != axes.size())
    return node.error() << "has " << scales.size() << " scales for " << axes.size() << " axes of "
                        << node.describe(0);
  Type f64 = Float64Type::get(node.build.getContext());
  for (auto [axis, scale] : llvm::zip(axes, scales)) {
    FailureOr<Dim> to = scaledSize(node, axis.from, scale);
    if (failed(to))
      return failure();
    axis.to = *to, axis.scale = scale;
    axis.scaleValue = node.build.scalar(scale, f64);
    axis.width = (sizeAs(node.build, axis.from, f64) * scale).value();
  }
  return success();
}

/// Of the node's `roi`: all starts, then all ends, as parts of an axis.
LogicalResult setCrops(NodeReader &node, SmallVectorImpl<ResizedAxis> &axes) {
  GraphBuilder &build = node.build;
  Value roi = optionalInput(node, 1);
  auto count = static_cast<int64_t>(axes.size());
  if (!roi || tensorType(roi).getRank() != 1 ||
      failed(build.getFacts().requireEqual(build.getLocation(), tensorType(roi).getDim(0),
                                           build.size(2 * count), "crops have two ends")))
    return node.error() << "tf_crop_and_resize needs a start and an end for each of " << count
                        << " axes";
  auto known = constantReals(roi);
  for (auto [index, axis] : llvm::enumerate(axes)) {
    if (known && (*known)[index] == 0 && (*known)[count + index] == 1)
      continue;
    auto element = [&](int64_t at) {
      return Expression(build, build.slice(roi, 0, build.size(at), build.size(1))).reshaped({});
    };
    Expression start = element(index), end = element(count + index);
    axis.start = start.value(), axis.extent = (end - start).value();
  }
  return success();
}

FailureOr<SmallVector<ResizedAxis>> readResizedAxes(NodeReader &node) {
  TensorType type = tensorType(node.input(0));
  int64_t rank = type.getRank();
  SmallVector<int64_t> named = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (auto given = node.opset() >= 18 ? node.integers("axes") : std::nullopt)
    named = *given;
  if (failed(node.normalAxes(named, rank)))
    return failure();
  SmallVector<ResizedAxis> axes;
  for (int64_t axis : named) {
    axis = axis < 0 ? axis + rank : axis;
    axes.push_back({axis, type.getDim(axis), {}, 0, {}, {}, {}, {}});
  }
  FailureOr<SmallVector<double>> scales = readScales(node);
  if (failed(scales) ||
      failed(scales->empty() ? setSizes(node, axes) : setScales(node, axes, *scales)))
    return failure();
  return axes;
}

/// Positions in the part of the axis that the node reads, computed in the type of the node's crops
/// as far as they do not depend on the position.
Expression croppedPositions(GraphBuilder &build, const ResizedAxis &axis, Expression x,
                            Expression isOne) {
  constexpr double kFar = 1 << 30; // crops are data: all positions beyond it are the same
  Type f64 = Float64Type::get(build.getContext());
  Expression last = sizeAs(build, axis.from, f64) - 1, width(build, axis.width);
  if (!axis.start)
    return select(isOne, last / 2, x * last / (width - 1));
  Expression start(build, axis.start), extent(build, axis.extent),
      span = sizeAs(build, axis.from, tensorType(axis.start).getElementType()) - 1;
  Expression inside =
      select(isOne, (extent * span / 2).as(f64), x * extent.as(f64) * last / (width - 1));
  Expression positions = (start * span).as(f64) + inside;
  return minimum(maximum(positions, positions.number(-kFar)), positions.number(kFar));
}

/// Where in the input each element of the resized axis lies.
Expression sourcePositions(GraphBuilder &build, const ResizedAxis &axis, StringRef transformation) {
  Type f64 = Float64Type::get(build.getContext());
  Expression x = countTo(build, axis.to, f64), size = sizeAs(build, axis.from, f64);
  Expression scale(build, axis.scaleValue), width(build, axis.width);
  Expression isOne(build, build.create<EqualOp>({width.value(), width.number(1).value()}));
  Expression halfPixel = (x + 0.5) / scale - 0.5;
  if (transformation == "asymmetric")
    return x / scale;
  if (transformation == "align_corners")
    return select(isOne, x.number(0), x * (size - 1) / (width - 1));
  if (transformation == "pytorch_half_pixel")
    return select(isOne, x.number(0), halfPixel);
  if (transformation == "half_pixel_symmetric")
    return size / 2 * (1 - sizeAs(build, axis.to, f64) / width) + halfPixel;
  if (transformation != "tf_crop_and_resize")
    return halfPixel;
  return croppedPositions(build, axis, x, isOne);
}

/// What the node says about all axes.
struct ResizeMode {
  Resampling resampling;
  std::string transformation;
  bool isAntialiased = false, isSimple = false;
  float extrapolation = 0;
};

FailureOr<Nearest> readNearestMode(NodeReader &node) {
  std::string name = node.text("nearest_mode", "round_prefer_floor");
  if (name == "round_prefer_floor")
    return Nearest::preferFloor;
  if (name == "round_prefer_ceil")
    return Nearest::preferCeil;
  if (name == "floor")
    return Nearest::floor;
  if (name == "ceil")
    return Nearest::ceil;
  return node.error() << "nearest_mode '" << name << "' is unknown";
}

/// Upsample and the first Resize had a mode and nothing else.
FailureOr<ResizeMode> readResizeMode(NodeReader &node) {
  ResizeMode result;
  std::string mode = node.text("mode", "nearest");
  result.isSimple = node.opType() == "Upsample" || node.opset() < 11;
  if (mode != "nearest" && mode != "linear" && (mode != "cubic" || result.isSimple))
    return node.error() << "mode '" << mode << "' is unknown";
  Resampling &resampling = result.resampling;
  resampling.mode = mode == "nearest"  ? Interpolation::nearest
                    : mode == "linear" ? Interpolation::linear
                                       : Interpolation::cubic;
  result.transformation =
      result.isSimple ? "asymmetric" : node.text("coordinate_transformation_mode", "half_pixel");
  static constexpr StringLiteral kTransformations[] = {"half_pixel",         "half_pixel_symmetric",
                                                       "pytorch_half_pixel", "asymmetric",
                                                       "align_corners",      "tf_crop_and_resize"};
  if (!llvm::is_contained(kTransformations, StringRef(result.transformation)))
    return node.error() << "coordinate_transformation_mode '" << result.transformation
                        << "' is not supported";
  if (result.isSimple)
    return result;
  FailureOr<Nearest> nearest = readNearestMode(node);
  if (failed(nearest))
    return failure();
  resampling.nearest = *nearest;
  resampling.cubicCoefficient = node.real("cubic_coeff_a", -0.75f);
  resampling.excludesOutside = node.flag("exclude_outside");
  result.isAntialiased = node.flag("antialias") && resampling.mode != Interpolation::nearest;
  result.extrapolation = node.real("extrapolation_value", 0);
  return result;
}

/// Elements that the node reads from outside the axis have a value of their own.
Value extrapolate(GraphBuilder &build, Value result, const ResizedAxis &axis, Expression positions,
                  float value) {
  if (!result)
    return {};
  Expression size = sizeAs(build, axis.from, Float64Type::get(build.getContext()));
  Expression isOutside = either(positions < 0, size - 1 < positions);
  SmallVector<Dim> shape(tensorType(result).getRank() - axis.axis, build.size(1));
  shape[0] = axis.to;
  Expression resampled(build, result);
  return select(isOutside.reshaped(shape), resampled.number(value), resampled).value();
}

/// How often each element is repeated, where that is what nearest neighbours come to; else 1.
int64_t repeatsOf(const ResizedAxis &axis, const ResizeMode &mode, Nearest nearest) {
  auto quotient = axis.to.exactDiv(axis.from);
  auto times = quotient ? quotient->asConstant() : std::nullopt;
  bool isWhole =
      times && *times > 1 && (axis.scale == 0 || axis.scale == static_cast<double>(*times));
  bool isRounded = nearest == Nearest::preferFloor || nearest == Nearest::preferCeil;
  bool isCentered =
      mode.transformation == "half_pixel" || mode.transformation == "pytorch_half_pixel";
  bool isNext =
      isCentered ? isRounded : mode.transformation == "asymmetric" && nearest == Nearest::floor;
  return isWhole && isNext && mode.resampling.mode == Interpolation::nearest ? *times : 1;
}

/// A view, which needs no kernel of its own.
Value repeatElements(GraphBuilder &build, Value input, int64_t axis, int64_t times) {
  SmallVector<Dim> result = tensorType(input).getShape(), split = result, repeated;
  result[axis] = result[axis] * times;
  split.insert(split.begin() + axis + 1, build.size(1));
  repeated = split, repeated[axis + 1] = build.size(times);
  return build.reshape(build.expand(build.reshape(input, split), repeated), result);
}

Value resizeAxis(NodeReader &node, Value input, const ResizedAxis &axis, const ResizeMode &mode) {
  GraphBuilder &build = node.build;
  Dim one = build.size(1);
  if (failed(build.getFacts().requireAtMost(build.getLocation(), axis.to.min(one), axis.from,
                                            "an axis that is resized has an element")))
    return {};
  Resampling resampling = mode.resampling;
  if (mode.isSimple)
    resampling.nearest = axis.scale < 1 ? Nearest::ceil : Nearest::floor;
  if (int64_t times = repeatsOf(axis, mode, resampling.nearest); times > 1)
    return repeatElements(build, input, axis.axis, times);
  bool isStretched = mode.isAntialiased && !axis.to.isConstant(0);
  if (isStretched && axis.scale == 0) {
    node.error() << "antialias with a scale that varies, from " << axis.from.toString() << " to "
                 << axis.to.toString() << ", is not supported";
    return {};
  }
  if (isStretched)
    resampling.filterScale = std::min(axis.scale, 1.0);
  Expression positions = sourcePositions(build, axis, mode.transformation);
  Value result = resample(build, input, axis.axis, positions, resampling);
  return axis.start ? extrapolate(build, result, axis, positions, mode.extrapolation) : result;
}

LogicalResult importResize(NodeReader &node) {
  FailureOr<ResizeMode> mode = readResizeMode(node);
  if (failed(mode))
    return failure();
  FailureOr<SmallVector<ResizedAxis>> axes = readResizedAxes(node);
  if (failed(axes) ||
      (mode->transformation == "tf_crop_and_resize" && failed(setCrops(node, *axes))))
    return failure();
  Type element = tensorType(node.input(0)).getElementType();
  if (element.isInteger(1) && mode->resampling.mode != Interpolation::nearest)
    return node.error() << "interpolation of " << node.describe(0) << " is not supported";
  Value result = node.input(0);
  for (const ResizedAxis &axis : *axes)
    if (result && (axis.from != axis.to || axis.scale != 1 || axis.start))
      result = resizeAxis(node, result, axis, *mode);
  return node.output(backTo(node.build, result, element));
}

} // namespace

ArrayRef<NodeRule> resizeRules() {
  static constexpr NodeRule kRules[] = {
      {"Resize", 10, 1, importResize},
      {"Upsample", 7, 1, importResize},
  };
  return kRules;
}

} // namespace smelt::frontend
