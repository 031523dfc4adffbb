// Pools: reductions over windows of the spatial axes. Padding is a concatenation and a window a view,
// so that a pool becomes one kernel that reads its input where it lies.
#include "frontend/node_table.h"
#include "frontend/ops/window.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

/// The windows of a pool over an input [N, C, spatial...].
struct Pool {
  Window window;
  SmallVector<Dim> kernel; ///< elements of a window along each spatial axis
  SmallVector<Dim> counts; ///< windows along each spatial axis
  SmallVector<Dim>
      missing; ///< elements behind the padding that the last window reaches (ceil_mode)

  size_t spatial() const { return kernel.size(); }
  bool hasPads() const {
    return llvm::any_of(window.pads, [](int64_t pad) { return pad != 0; });
  }
  bool isWhole() const {
    return llvm::all_of(missing, [](Dim dim) { return dim.isConstant(0); });
  }
};

/// How many windows an axis of `size` elements has and what the last one misses. In ceil_mode the
/// last window may be incomplete, but begins before the padding at the end.
void countWindows(Pool &pool, size_t axis, Dim size, bool ceil) {
  int64_t stride = pool.window.strides[axis], before = pool.window.pads[axis],
          after = pool.window.pads[axis + pool.spatial()];
  Dim step = Dim::constant(size.getContext(), stride),
      reach = pool.window.reach(axis, pool.kernel[axis]), padded = size + before + after,
      zero = Dim::constant(size.getContext(), 0);
  Dim count = (padded - reach).floorDiv(step) + 1;
  if (ceil) {
    Dim beginsInside = (size + before - 1).floorDiv(step) + 1;
    count = ((padded - reach).ceilDiv(step) + 1).min(beginsInside);
  }
  pool.counts.push_back(count);
  pool.missing.push_back(ceil ? ((count - 1) * stride + reach - padded).max(zero) : zero);
}

FailureOr<Pool> readPool(NodeReader &node) {
  GraphBuilder &build = node.build;
  SmallVector<Dim> shape = tensorType(node.input(0)).getShape();
  if (shape.size() < 3)
    return node.error() << "needs an input with spatial axes, got " << node.describe(0);
  ArrayRef<Dim> sizes = ArrayRef(shape).drop_front(2);
  if (!node.hasAttribute("kernel_shape"))
    return node.error() << "needs its attribute 'kernel_shape'";
  FailureOr<SmallVector<int64_t>> taps = readSizes(node, "kernel_shape", sizes.size(), 1, 1);
  if (failed(taps))
    return failure();
  Pool pool;
  for (int64_t count : *taps)
    pool.kernel.push_back(build.size(count));
  FailureOr<Window> window = readWindow(node, sizes, pool.kernel);
  if (failed(window))
    return failure();
  pool.window = *window;
  for (auto [axis, size] : llvm::enumerate(sizes)) {
    Dim padded = size + window->pads[axis] + window->pads[axis + sizes.size()];
    if (failed(build.getFacts().requireAtMost(build.getLocation(),
                                              window->reach(axis, pool.kernel[axis]), padded,
                                              "the window fits into the padded input")))
      return failure();
  }
  shape = tensorType(node.input(0)).getShape();
  for (auto [axis, size] : llvm::enumerate(ArrayRef(shape).drop_front(2)))
    countWindows(pool, axis, size, node.flag("ceil_mode"));
  return pool;
}

/// [leading..., spatial...] => [leading..., windows..., elements of a window...], with `fill` where a
/// window leaves the input.
Value windowsOf(GraphBuilder &build, Value input, const Pool &pool, Value fill) {
  size_t spatial = pool.spatial(), leading = tensorType(input).getRank() - spatial;
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, leading)), elements;
  for (size_t axis = 0; axis < spatial; ++axis)
    input = build.pad(input, leading + axis, build.size(pool.window.pads[axis]),
                      pool.missing[axis] + pool.window.pads[axis + spatial], fill);
  for (size_t axis = 0; axis < spatial; ++axis) {
    size_t at = leading + 2 * axis;
    input = build.windows(input, at, pool.counts[axis], pool.kernel[axis],
                          pool.window.strides[axis], pool.window.dilations[axis]);
    order.push_back(at);
    elements.push_back(at + 1);
  }
  order.append(elements);
  return build.transpose(input, order);
}

/// The elements of each window combined.
Value reduceWindows(GraphBuilder &build, ReductionKind kind, Value input, const Pool &pool,
                    Value fill) {
  Value windows = windowsOf(build, input, pool, fill);
  if (!windows)
    return {};
  SmallVector<Dim> shape = tensorType(windows).getShape();
  size_t kept = shape.size() - pool.spatial();
  Value reduced =
      build.reduce(kind, windows, llvm::to_vector(llvm::seq<int64_t>(kept, shape.size())));
  return build.reshape(reduced, ArrayRef(shape).take_front(kept));
}

/// Less than every other value.
Value lowest(GraphBuilder &build, Type type) {
  if (isa<FloatType>(type))
    return build.scalar(-std::numeric_limits<double>::infinity(), type);
  unsigned width = type.getIntOrFloatBitWidth();
  return build.scalar(type.isUnsignedInteger() ? 0.0 : static_cast<double>(llvm::minIntN(width)),
                      type);
}

/// The place of each element of the input in the whole tensor; within an image by columns for
/// storage_order 1.
Value placesOf(NodeReader &node) {
  GraphBuilder &build = node.build;
  SmallVector<Dim> shape = tensorType(node.input(0)).getShape();
  Type i64 = IntegerType::get(build.getContext(), 64);
  SmallVector<int64_t> order{0, 1};
  bool byColumns = node.flag("storage_order");
  for (size_t axis = 2; axis < shape.size(); ++axis)
    order.push_back(byColumns ? shape.size() + 1 - axis : axis);
  SmallVector<Dim> stored = llvm::map_to_vector(order, [&](int64_t axis) { return shape[axis]; });
  Dim count = tensorType(node.input(0)).getNumElements();
  Value all = build.createAs<IotaOp>(TensorType::get({count}, i64), {});
  return build.transpose(build.reshape(all, stored), order);
}

/// The place of the largest element of each window; the first of several.
LogicalResult outputPlaces(NodeReader &node, const Pool &pool) {
  GraphBuilder &build = node.build;
  Value places = placesOf(node), input = node.input(0);
  if (!isa<FloatType>(tensorType(input).getElementType())) // padding is less than the least byte
    input = build.cast(input, IntegerType::get(build.getContext(), 32));
  if (!places || !input)
    return failure();
  Value values = windowsOf(build, input, pool, lowest(build, tensorType(input).getElementType())),
        from = windowsOf(build, places, pool, build.scalar(0, tensorType(places).getElementType()));
  if (!values || !from)
    return failure();
  SmallVector<Dim> shape = tensorType(values).getShape();
  Dim taps = product(pool.kernel, build.getContext());
  shape.truncate(shape.size() - pool.spatial());
  SmallVector<Dim> kept(shape);
  shape.push_back(taps);
  values = build.reshape(values, shape), from = build.reshape(from, shape);
  shape.back() = build.size(1);
  TensorType one = tensorType(values).withShape(shape);
  SmallVector<Value> first = build.createAll<TopKOp>(
      {one, one.withElementType(tensorType(places).getElementType())}, values,
      build.attribute("axis", static_cast<int64_t>(shape.size() - 1)));
  if (first.empty())
    return failure();
  Value found = build.create<GatherElementsOp>(
      {from, first[1]}, build.attribute("axis", static_cast<int64_t>(shape.size() - 1)));
  return node.output(build.reshape(found, kept), 1);
}

LogicalResult importMaxPool(NodeReader &node) {
  FailureOr<Pool> pool = readPool(node);
  if (failed(pool))
    return failure();
  if (node.outputCount() > 1 && failed(outputPlaces(node, *pool)))
    return failure();
  Value fill = lowest(node.build, tensorType(node.input(0)).getElementType());
  return node.output(reduceWindows(node.build, ReductionKind::max, node.input(0), *pool, fill));
}

/// How many elements each window counts: those of the input, and with `countsPads` of the padding,
/// but nothing behind it.
Value countElements(GraphBuilder &build, const Pool &pool, ArrayRef<Dim> sizes, bool countsPads,
                    Type type) {
  Value one = build.scalar(1, type), zero = build.scalar(0, type);
  if (pool.isWhole() && (countsPads || !pool.hasPads()))
    return build.cast(build.dim(product(pool.kernel, build.getContext()),
                                IntegerType::get(build.getContext(), 64)),
                      type);
  Value counted = build.expand(one, sizes);
  Pool unpadded = pool;
  for (size_t axis = 0; countsPads && counted && axis < pool.spatial(); ++axis) {
    int64_t &before = unpadded.window.pads[axis],
            &after = unpadded.window.pads[axis + pool.spatial()];
    counted = build.pad(counted, axis, build.size(before), build.size(after), one);
    before = after = 0;
  }
  return counted ? reduceWindows(build, ReductionKind::sum, counted, unpadded, zero) : Value();
}

/// Sums of 16-bit floats are kept in float32 until they are divided.
Type sumType(GraphBuilder &build, Type type) {
  return type.isF64() ? type : Float32Type::get(build.getContext());
}

LogicalResult importAveragePool(NodeReader &node) {
  GraphBuilder &build = node.build;
  FailureOr<Pool> pool = readPool(node);
  if (failed(pool))
    return failure();
  TensorType input = tensorType(node.input(0));
  Type wide = sumType(build, input.getElementType());
  Value sum = reduceWindows(build, ReductionKind::sum, build.cast(node.input(0), wide), *pool,
                            build.scalar(0, wide));
  SmallVector<Dim> shape = input.getShape();
  Value count = countElements(build, *pool, ArrayRef(shape).drop_front(2),
                              node.flag("count_include_pad"), wide);
  Value mean = sum && count ? build.create<DivOp>({sum, count}) : Value();
  return node.output(mean ? build.cast(mean, input.getElementType()) : Value());
}

/// |x|^p, and the p-th root of its sum.
Value powerOf(GraphBuilder &build, Value input, double exponent) {
  if (!input || exponent == 1)
    return input;
  return build.create<PowOp>({input, build.scalar(exponent, tensorType(input).getElementType())});
}

LogicalResult outputRoot(NodeReader &node, Value sum, int64_t p) {
  Value root = powerOf(node.build, sum, 1.0 / static_cast<double>(p));
  return node.output(root ? node.build.cast(root, tensorType(node.input(0)).getElementType())
                          : Value());
}

FailureOr<int64_t> readPower(NodeReader &node) {
  int64_t p = node.integer("p", 2);
  if (p < 1)
    return node.error() << "its attribute 'p' must be at least 1, got " << p;
  return p;
}

Value absolutePower(NodeReader &node, int64_t p) {
  GraphBuilder &build = node.build;
  Type wide = sumType(build, tensorType(node.input(0)).getElementType());
  Value magnitude = build.unary<AbsOp>(build.cast(node.input(0), wide));
  return powerOf(build, magnitude, static_cast<double>(p));
}

LogicalResult importLpPool(NodeReader &node) {
  GraphBuilder &build = node.build;
  FailureOr<Pool> pool = readPool(node);
  FailureOr<int64_t> p = readPower(node);
  if (failed(pool) || failed(p))
    return failure();
  Value powers = absolutePower(node, *p);
  if (!powers)
    return failure();
  Value zero = build.scalar(0, tensorType(powers).getElementType());
  return outputRoot(node, reduceWindows(build, ReductionKind::sum, powers, *pool, zero), *p);
}

FailureOr<SmallVector<int64_t>> spatialAxes(NodeReader &node) {
  int64_t rank = tensorType(node.input(0)).getRank();
  if (rank < 3)
    return node.error() << "needs an input with spatial axes, got " << node.describe(0);
  return llvm::to_vector(llvm::seq<int64_t>(2, rank));
}

template <ReductionKind kind> LogicalResult importGlobalPool(NodeReader &node) {
  FailureOr<SmallVector<int64_t>> axes = spatialAxes(node);
  return failed(axes) ? failure() : node.output(node.build.reduce(kind, node.input(0), *axes));
}

LogicalResult importGlobalLpPool(NodeReader &node) {
  FailureOr<SmallVector<int64_t>> axes = spatialAxes(node);
  FailureOr<int64_t> p = readPower(node);
  if (failed(axes) || failed(p))
    return failure();
  return outputRoot(node, node.build.reduce(ReductionKind::sum, absolutePower(node, *p), *axes),
                    *p);
}

/// Puts each element where its maximum came from, zeros elsewhere.
LogicalResult importMaxUnpool(NodeReader &node) {
  GraphBuilder &build = node.build;
  TensorType input = tensorType(node.input(0));
  SmallVector<Dim> shape = input.getShape();
  size_t spatial = shape.size() - 2;
  auto kernel = readSizes(node, "kernel_shape", spatial, 1, 1),
       strides = readSizes(node, "strides", spatial, 1, 1);
  auto pads = readSizes(node, "pads", 2 * spatial, 0, 0);
  if (failed(kernel) || failed(strides) || failed(pads))
    return failure();
  for (size_t axis = 0; axis < spatial; ++axis)
    shape[axis + 2] = (shape[axis + 2] - 1) * (*strides)[axis] + (*kernel)[axis] - (*pads)[axis] -
                      (*pads)[axis + spatial];
  SmallVector<Dim> given(shape);
  if (node.input(2)) {
    FailureOr<SmallVector<Dim>> wanted = node.dims(2, "the output's shape");
    if (failed(wanted))
      return failure();
    given = *wanted;
    if (given.size() != shape.size())
      return node.error() << "its output shape " << node.describe(2) << " has another rank than "
                          << node.describe(0);
  }
  // The places are those in the shape that the windows imply; what a given shape has more stays 0.
  Value zeros =
      build.expand(build.scalar(0, input.getElementType()), {product(shape, build.getContext())});
  Value flat = build.reshape(node.input(0), {input.getNumElements()}),
        places = build.reshape(node.input(1), {input.getNumElements()});
  Value result =
      build.create<ScatterElementsOp>({zeros, places, flat}, build.attribute("axis", 0l));
  result = build.reshape(result, shape);
  Value zero = build.scalar(0, input.getElementType());
  for (size_t axis = 0; result && axis < shape.size(); ++axis) {
    if (failed(build.getFacts().requireAtMost(build.getLocation(), shape[axis], given[axis],
                                              "the output holds the unpooled image")))
      return failure();
    result = build.pad(result, axis, build.size(0), given[axis] - shape[axis], zero);
  }
  return node.output(result);
}

} // namespace

ArrayRef<NodeRule> poolingRules() {
  static constexpr NodeRule kRules[] = {
      {"AveragePool", 1, 1, importAveragePool},
      {"GlobalAveragePool", 1, 1, importGlobalPool<ReductionKind::mean>},
      {"GlobalLpPool", 2, 1, importGlobalLpPool},
      {"GlobalMaxPool", 1, 1, importGlobalPool<ReductionKind::max>},
      {"LpPool", 2, 1, importLpPool},
      {"MaxPool", 1, 1, importMaxPool},
      {"MaxUnpool", 9, 2, importMaxUnpool},
  };
  return kRules;
}

} // namespace smelt::frontend
