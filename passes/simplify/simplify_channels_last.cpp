// simplify-channels-last: convolutions as matrix products, over images with their channels last.
//
// The windows of an image [N, H, W, C] are rows of kernel x C elements, most of them neighbours in
// memory: a convolution is a product of these rows and a matrix of weights. As views and a matmul it
// runs on the GEMM template, which forms the rows as it loads them (an implicit GEMM), with bias,
// norm, activation and residual in its epilogue:
//   [N, C, H, W] -> [N, H, W, C] -> [N, h, w, kh, kw, C] -> [N, h, w, kh*kw*C] x [kh*kw*C, M]
//     -> [N, h, w, M] -> [N, M, h, w]
// Of few channels (a first layer's), what is read of an image is short, and windows a stride apart begin anywhere. The
// pixels of a stride are then the channels of one pixel (space to depth): a window of 7 x 7 x 3, two apart, is one of
// 4 x 4 x 16, one apart, whose rows of 128 bytes the hardware copies whole. On an H100 the first convolution of 64
// images of 224 x 224 took 158 us of rows of 64 bytes.
// With groups it is a product of batches, a group each. With groups of one channel (depthwise) it is
// no product of matrices: the windows are multiplied by the filters and summed up, which the columnwise
// template does in one kernel, as it does pools.
//
// The transposes around each convolution then sink through what follows it (elementwise ops,
// concatenations, windows, reductions) until they meet those of the next: only those at the borders of
// the graph are left. Weights are laid out anew at compile time, being views of weights.
//
// Assumes float convolutions; those whose kernel equals its stride are patches, which need no windows
// (simplify-conv-patch).
#include "passes/constants.h"
#include "passes/passes.h"
#include "passes/simplify/canonical.h"
#include "passes/simplify/dequantized.h"
#include "passes/view_shape.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_SIMPLIFYCHANNELSLAST
#include "passes/passes.h.inc"

namespace {

/// What a load takes: channels of a first layer are padded to a multiple of it, where they are few.
constexpr int64_t kVectorChannels = 4, kFewChannels = 16, kVectorBytes = 16;

/// Axes 0, 2, 3, ..., 1.
SmallVector<int64_t> channelsToTheEnd(int64_t rank) {
  SmallVector<int64_t> permutation{0};
  for (int64_t axis = 2; axis < rank; ++axis)
    permutation.push_back(axis);
  permutation.push_back(1);
  return permutation;
}

bool isOne(int64_t number) { return number == 1; }

SmallVector<int64_t> range(int64_t first, int64_t end) {
  return llvm::to_vector(llvm::seq<int64_t>(first, end));
}

/// simplify-conv-patch takes it as it is: windows that do not overlap, of more than one pixel.
bool isPatches(ConvOp op) {
  TensorType filter = tensorType(op.getFilter());
  bool isPixel = true;
  for (auto [axis, stride] : llvm::enumerate(op.getStrides())) {
    isPixel &= filter.getDim(axis + 2).isConstant(1);
    if (!filter.getDim(axis + 2).isConstant(stride) ||
        tensorType(op.getInput()).getDim(axis + 2) !=
            tensorType(op.getOutput()).getDim(axis + 2) * stride)
      return false;
  }
  return !isPixel && op.getGroups() == 1 && llvm::all_of(op.getDilations(), isOne) &&
         llvm::all_of(op.getPads(), [](int64_t pad) { return pad == 0; });
}

bool isTaken(ConvOp op) {
  auto type = dyn_cast<FloatType>(tensorType(op.getInput()).getElementType());
  return type && !type.isF64() && !isPatches(op) &&
         llvm::all_of(op.getPads(), [](int64_t pad) { return pad >= 0; });
}

/// One convolution over an image with its channels last.
class ChannelsLast {
public:
  ChannelsLast(ConvOp op, OpBuilder &builder)
      : op(op), builder(builder), location(op.getLoc()), context(op.getContext()),
        type(tensorType(op.getInput()).getElementType()),
        filter(tensorType(op.getFilter()).getShape()),
        result(tensorType(op.getOutput()).getShape()), spatial(result.size() - 2),
        groups(op.getGroups()), strides(op.getStrides()), pads(op.getPads()),
        weights(op.getFilter()) {}

  Value run() {
    image = transposed(op.getInput(), channelsToTheEnd(spatial + 2));
    addChannels();
    if (canFoldStrides())
      foldStrides();
    else
      pads.back() += alignRows();
    for (int64_t axis = 0; axis < spatial; ++axis)
      image = padded(image, axis + 1, pads[axis], pads[axis + spatial]);
    for (int64_t axis = 0; axis < spatial; ++axis)
      openWindows(axis);
    Value sums = groups == 1 ? product() : filter[1].isConstant(1) ? depthwise() : grouped();
    if (op.getBias()) // before sums in float are rounded
      sums = AddOp::create(builder, location, sums,
                           converted(op.getBias(), tensorType(sums).getElementType()));
    return transposed(converted(sums, type), invertPermutation(channelsToTheEnd(spatial + 2)));
  }

private:
  Value transposed(Value value, ArrayRef<int64_t> permutation) {
    return TransposeOp::create(builder, location, value, permutation);
  }

  /// With so many zeros before and behind the elements of axis `axis`.
  Value padded(Value value, int64_t axis, int64_t before, int64_t after) {
    auto zeros = [&](int64_t count) -> Value {
      SmallVector<Dim> shape = tensorType(value).getShape();
      shape[axis] = size(count);
      Value zero = makeScalar(builder, location, 0, type);
      return broadcastTo(builder, location, zero, TensorType::get(shape, type));
    };
    SmallVector<Value> parts{value};
    if (before)
      parts.insert(parts.begin(), zeros(before));
    if (after)
      parts.push_back(zeros(after));
    return parts.size() == 1 ? value : ConcatOp::create(builder, location, parts, axis).getOutput();
  }

  /// The few channels of a first layer become a vector, with zeros: the kernel that brings them to the
  /// end writes these too, and a pixel is loaded at once.
  void addChannels() {
    std::optional<int64_t> channels = filter[1].asConstant();
    if (groups > 1 || !channels || *channels > kFewChannels || *channels % kVectorChannels == 0 ||
        pixels().isConstant(1))
      return;
    int64_t missing = kVectorChannels - *channels % kVectorChannels;
    image = padded(image, spatial + 1, 0, missing);
    weights = padded(weights, 1, 0, missing);
    filter[1] = size(*channels + missing);
  }

  /// Bytes of an element as it will be loaded.
  int64_t loadedBytes() {
    bool isBytes =
        findDequantized(builder, op.getInput()) && findDequantized(builder, op.getFilter());
    return isBytes ? 1 : type.getIntOrFloatBitWidth() / 8;
  }

  /// Rows of a window of few channels become whole vectors, with a tap of zeros at most, and so do rows of
  /// the image: a vector is then loaded at once. Returns how many pixels of zeros follow each row for it.
  /// Zero times an infinite pixel is no number: such a pixel reaches one window more.
  int64_t alignRows() {
    auto taps = filter[spatial + 1].asConstant(), channels = filter[1].asConstant();
    auto given = tensorType(op.getInput()).getDim(spatial + 1).asConstant(),
         windows = result[spatial + 1].asConstant();
    if (groups > 1 || !taps || !given || !windows || *taps == 1 ||
        op.getDilations()[spatial - 1] != 1 || !channels || *channels == 0 ||
        *channels >= kVectorBytes)
      return 0;
    int64_t pixel = *channels * loadedBytes();
    if (pixel >= kVectorBytes || kVectorBytes % pixel != 0)
      return 0;
    int64_t unit = kVectorBytes / pixel, rest = *taps % unit;
    if (rest != 0 && rest != unit - 1)
      return 0;
    int64_t added = rest == 0 ? 0 : 1;
    weights = padded(weights, spatial + 1, 0, added);
    filter[spatial + 1] = size(*taps + added);
    int64_t width = *given + pads[spatial - 1] + pads[2 * spatial - 1],
            reach = (*windows - 1) * strides[spatial - 1] + *taps + added;
    return static_cast<int64_t>(llvm::alignTo(std::max(width, reach), unit)) - width;
  }

  /// Few channels, taps more than a stride, and that more than one, along every axis, and sizes of whole strides. Not
  /// of bytes: nobody measured those.
  bool canFoldStrides() {
    std::optional<int64_t> channels = filter[1].asConstant();
    if (groups > 1 || !channels || *channels == 0 || !llvm::all_of(op.getDilations(), isOne) ||
        loadedBytes() == 1)
      return false;
    int64_t together = *channels;
    for (int64_t axis = 0; axis < spatial; ++axis) {
      std::optional<int64_t> taps = filter[axis + 2].asConstant();
      if (!taps || *taps <= strides[axis] || strides[axis] == 1 ||
          sizeOf(axis).value_or(1) % strides[axis] != 0 || !result[axis + 2].asConstant())
        return false;
      together *= strides[axis];
    }
    return together <= kFewChannels;
  }

  /// Of the convolution's input, where it is known.
  std::optional<int64_t> sizeOf(int64_t axis) {
    return tensorType(op.getInput()).getDim(axis + 2).asConstant();
  }

  /// The pixels of a stride become channels of one pixel, and the filter's likewise, with taps of zeros before its
  /// own until what is padded is whole strides, and behind them until the filter is: as in alignRows(), an
  /// infinite pixel reaches these windows, too.
  void foldStrides() {
    for (int64_t axis = 0; axis < spatial; ++axis) {
      int64_t stride = strides[axis], taps = *filter[axis + 2].asConstant(), before = pads[axis],
              first = static_cast<int64_t>(llvm::alignTo(before, stride)) - before,
              whole = static_cast<int64_t>(llvm::alignTo(first + taps, stride)),
              lastWindow = *result[axis + 2].asConstant() - 1;
      weights = padded(weights, axis + 2, first, whole - first - taps);
      pads[axis] = (before + first) / stride;
      pads[axis + spatial] =
          std::max<int64_t>(lastWindow + whole / stride - *sizeOf(axis) / stride - pads[axis], 0);
    }
    image = folded(image, 1, /*channelsLast=*/true);
    weights = folded(weights, 2, /*channelsLast=*/false);
    filter = SmallVector<Dim>(tensorType(weights).getShape());
    strides.assign(spatial, 1);
  }

  /// Spatial axes from `first` on, divided by their strides; the rests, in their order, lie before the channels.
  Value folded(Value value, int64_t first, bool channelsLast) {
    SmallVector<Dim> shape = tensorType(value).getShape(), apart, joined;
    SmallVector<int64_t> order{0}, rests, quotients;
    int64_t channelAxis = channelsLast ? spatial + 1 : 1, channels = 0;
    for (int64_t axis = 0; axis < spatial + 2; ++axis) {
      auto at = static_cast<int64_t>(apart.size());
      if (axis == channelAxis)
        channels = at;
      if (axis < first || axis >= first + spatial) {
        apart.push_back(shape[axis]);
        continue;
      }
      Dim stride = size(strides[axis - first]);
      apart.append({shape[axis].floorDiv(stride), stride});
      quotients.push_back(at), rests.push_back(at + 1);
    }
    rests.push_back(channels);
    order.append(channelsLast ? quotients : rests);
    order.append(channelsLast ? rests : quotients);
    joined = permuteShape(apart, order);
    auto begin = joined.begin() + (channelsLast ? spatial + 1 : 1);
    *begin = smelt::product(ArrayRef(begin, rests.size()), context);
    joined.erase(begin + 1, begin + static_cast<int64_t>(rests.size()));
    return reshapeTo(builder, location,
                     transposed(reshapeTo(builder, location, value, apart), order), joined);
  }

  /// Spatial axis `axis` of the image becomes the result's, and behind it, where a filter has more
  /// than one pixel, the filter's.
  void openWindows(int64_t axis) {
    int64_t at = outer.back() + 1 + (inner.empty() ? 0 : inner.back() == outer.back() + 1);
    outer.push_back(at);
    if (filter[axis + 2].isConstant(1)) {
      image = everyOther(image, at, axis);
      return;
    }
    SmallVector<Dim> shape = tensorType(image).getShape();
    shape[at] = result[axis + 2];
    shape.insert(shape.begin() + at + 1, filter[axis + 2]);
    image = WindowsOp::create(builder, location, TensorType::get(shape, type), image, at,
                              strides[axis], op.getDilations()[axis]);
    inner.push_back(at + 1);
  }

  Dim pixels() const { return smelt::product(ArrayRef(filter).drop_front(2), context); }
  Dim size(int64_t value) const { return Dim::constant(context, value); }

  /// [N, result..., kernel * C] x [kernel * C, M]
  Value product() {
    SmallVector<int64_t> order(outer), ofFilter = range(2, spatial + 2);
    order.append(inner);
    order.push_back(order.size());
    ofFilter.append({1, 0});
    Dim depth = pixels() * filter[1];
    SmallVector<Dim> rows(result);
    rows.erase(rows.begin() + 1);
    rows.push_back(depth);
    Value matrix = reshapeTo(builder, location, transposed(weights, ofFilter), {depth, filter[0]});
    return MatmulOp::create(builder, location,
                            reshapeTo(builder, location, transposed(image, order), rows), matrix);
  }

  /// [G, N * result, kernel * C/G] x [G, kernel * C/G, M/G], and the groups back to the channels.
  Value grouped() {
    SmallVector<Dim> split(tensorType(image).getShape());
    auto channels = static_cast<int64_t>(split.size()) - 1;
    split.back() = size(groups);
    split.push_back(filter[1]);
    SmallVector<int64_t> order{channels}, ofFilter{0};
    order.append(outer), order.append(inner);
    order.push_back(channels + 1);
    Dim depth = pixels() * filter[1], filters = filter[0].floorDiv(size(groups));
    SmallVector<Dim> positions(result);
    positions.erase(positions.begin() + 1);
    Dim rows = smelt::product(positions, context);
    Value windows = transposed(reshapeTo(builder, location, image, split), order);
    SmallVector<Dim> apart(filter);
    apart[0] = filters;
    apart.insert(apart.begin(), size(groups));
    ofFilter.append(range(3, spatial + 3));
    ofFilter.append({2, 1});
    Value matrices = transposed(reshapeTo(builder, location, weights, apart), ofFilter);
    Value sums = MatmulOp::create(
        builder, location, reshapeTo(builder, location, windows, {size(groups), rows, depth}),
        reshapeTo(builder, location, matrices, {size(groups), depth, filters}));
    Value together = transposed(sums, {1, 0, 2});
    positions.push_back(filter[0]);
    return reshapeTo(builder, location, together, positions);
  }

  /// Windows times filters, [N, result and kernel..., C, M/C], summed up in float, which they stay.
  Value depthwise() {
    Dim filters = filter[0].floorDiv(size(groups));
    Type wide = builder.getF32Type();
    SmallVector<Dim> apart(filter), laid, each = tensorType(image).getShape();
    apart[0] = filters;
    apart.insert(apart.begin(), size(groups));
    SmallVector<int64_t> ofFilter = range(3, spatial + 3); // [G, M/G, 1, kernel...]
    ofFilter.append({2, 0, 1});
    for (int64_t axis = 1; axis < static_cast<int64_t>(each.size()) - 1; ++axis)
      laid.push_back(llvm::is_contained(inner, axis) ? each[axis] : size(1));
    laid.append({size(groups), filters});
    each.push_back(size(1));
    Value factors = transposed(reshapeTo(builder, location, weights, apart), ofFilter);
    Value products =
        MulOp::create(builder, location, converted(reshapeTo(builder, location, image, each), wide),
                      converted(reshapeTo(builder, location, factors, laid), wide));
    if (!inner.empty())
      products = ReduceOp::create(builder, location, products, ReductionKind::sum, inner);
    SmallVector<Dim> positions(result);
    positions.erase(positions.begin() + 1);
    positions.push_back(filter[0]);
    return reshapeTo(builder, location, products, positions);
  }

  Value converted(Value value, Type to) {
    TensorType from = tensorType(value);
    return from.getElementType() == to
               ? value
               : CastOp::create(builder, location, from.withElementType(to), value).getOutput();
  }

  /// The pixels that a filter of one pixel reads along axis `at` of the image.
  Value everyOther(Value image, int64_t at, int64_t axis) {
    SmallVector<Dim> shape = tensorType(image).getShape();
    if (shape[at] == result[axis + 2] && strides[axis] == 1)
      return image;
    SmallVector<Attribute> starts(shape.size(), size(0).getAttribute());
    SmallVector<int64_t> steps(shape.size(), 1);
    shape[at] = result[axis + 2], steps[at] = strides[axis];
    return SliceOp::create(builder, location, TensorType::get(shape, type), image,
                           builder.getArrayAttr(starts), builder.getDenseI64ArrayAttr(steps));
  }

  ConvOp op;
  OpBuilder &builder;
  Location location;
  MLIRContext *context;
  Type type;
  SmallVector<Dim> filter, result; ///< shapes
  int64_t spatial, groups;
  SmallVector<int64_t> strides, pads;
  Value weights;                        ///< the filters
  Value image;                          ///< with its channels last, padded, in windows
  SmallVector<int64_t> outer{0}, inner; ///< axes of the image: those of the result, of a window
};

/// Brings the channels from the end to axis 1, as behind a convolution. Those at the borders of the
/// graph, which bring them to the end, stay where they are: an image is transposed once, not read so
/// by every window.
bool bringsChannelsFirst(TransposeOp op) {
  if (!op || op.getPermutation().size() < 3 || isa<BlockArgument>(op.getInput()))
    return false; // of a line, both directions are one permutation
  ArrayRef<int64_t> permutation = op.getPermutation();
  return permutation[0] == 0 && permutation[1] == static_cast<int64_t>(permutation.size()) - 1;
}

/// `value` as the operand of an op that is computed before a transposition by `permutation`: what was
/// transposed alike is read as it was, one number everywhere has no order. Null for others.
Value beforeTranspose(OpBuilder &builder, Value value, ArrayRef<int64_t> permutation) {
  auto transpose = value.getDefiningOp<TransposeOp>();
  if (transpose && transpose.getPermutation() == permutation)
    return transpose.getInput();
  auto expand = value.getDefiningOp<ExpandOp>();
  if (!expand || !splatNumber(value))
    return {};
  TensorType type = tensorType(value);
  SmallVector<Dim> shape = permuteShape(type.getShape(), invertPermutation(permutation));
  return ExpandOp::create(builder, expand.getLoc(), type.withShape(shape), expand.getInput());
}

/// concat(transpose(x), transpose(y), zeros) => transpose(concat(x, y, zeros))
struct ConcatOfTransposes : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConcatOp op, PatternRewriter &rewriter) const override {
    TransposeOp first;
    for (Value input : op.getInputs())
      if (!first)
        first = input.getDefiningOp<TransposeOp>();
    if (!bringsChannelsFirst(first))
      return failure();
    SmallVector<Value> inputs;
    for (Value input : op.getInputs()) {
      inputs.push_back(beforeTranspose(rewriter, input, first.getPermutation()));
      if (!inputs.back())
        return failure();
    }
    Value inner =
        ConcatOp::create(rewriter, op.getLoc(), inputs, first.getPermutation()[op.getAxis()]);
    rewriter.replaceOpWithNewOp<TransposeOp>(op, inner, first.getPermutation());
    return success();
  }
};

/// windows(transpose(x)) => transpose(windows(x))
struct WindowsOfTranspose : OpRewritePattern<WindowsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(WindowsOp op, PatternRewriter &rewriter) const override {
    auto transpose = op.getInput().getDefiningOp<TransposeOp>();
    if (!bringsChannelsFirst(transpose))
      return failure();
    int64_t axis = op.getAxis(), source = transpose.getPermutation()[axis];
    SmallVector<int64_t> permutation = llvm::map_to_vector(
        transpose.getPermutation(), [&](int64_t from) { return from + (from > source); });
    permutation.insert(permutation.begin() + axis + 1, source + 1);
    TensorType type = tensorType(op.getOutput());
    SmallVector<Dim> shape = permuteShape(type.getShape(), invertPermutation(permutation));
    Value inner = WindowsOp::create(rewriter, op.getLoc(), type.withShape(shape),
                                    transpose.getInput(), source, op.getStride(), op.getDilation());
    rewriter.replaceOpWithNewOp<TransposeOp>(op, inner, permutation);
    return success();
  }
};

/// reduce(transpose(x)) => transpose(reduce(x))
struct ReduceOfTranspose : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReduceOp op, PatternRewriter &rewriter) const override {
    auto transpose = op.getInput().getDefiningOp<TransposeOp>();
    if (!bringsChannelsFirst(transpose))
      return failure();
    rewriter.replaceOp(op, reduceBeforeTranspose(rewriter, op, transpose));
    return success();
  }
};

/// reshape(transpose(x)) => transpose(reshape(x)) where the reshape only drops axes of size 1.
struct DropAxesOfTranspose : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    auto transpose = op.getInput().getDefiningOp<TransposeOp>();
    if (!bringsChannelsFirst(transpose))
      return failure();
    auto kept = keptWhereUnitAxesDrop(tensorType(op.getInput()).getShape(),
                                      tensorType(op.getOutput()).getShape());
    if (!kept)
      return failure();
    // Of the source, the axes that are kept, in its own order; and where each of them goes.
    SmallVector<int64_t> sources =
        llvm::map_to_vector(*kept, [&](unsigned axis) { return transpose.getPermutation()[axis]; });
    SmallVector<int64_t> inOrder(sources);
    llvm::sort(inOrder);
    SmallVector<Dim> shape = llvm::map_to_vector(
        inOrder, [&](int64_t axis) { return tensorType(transpose.getInput()).getDim(axis); });
    SmallVector<int64_t> permutation = llvm::map_to_vector(sources, [&](int64_t axis) {
      return static_cast<int64_t>(llvm::find(inOrder, axis) - inOrder.begin());
    });
    Value inner = reshapeTo(rewriter, op.getLoc(), transpose.getInput(), shape);
    rewriter.replaceOpWithNewOp<TransposeOp>(op, inner, permutation);
    return success();
  }
};

struct SimplifyChannelsLast : impl::SimplifyChannelsLastBase<SimplifyChannelsLast> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    populateBroadcastPatterns(set);
    set.add<ConcatOfTransposes, WindowsOfTranspose, ReduceOfTranspose, DropAxesOfTranspose>(
        context);
    patterns = FrozenRewritePatternSet(std::move(set));
    return success();
  }

  void runOnOperation() override {
    SmallVector<ConvOp> convolutions;
    getOperation().walk([&](ConvOp op) {
      if (isTaken(op))
        convolutions.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (ConvOp op : convolutions) {
      rewriter.setInsertionPoint(op);
      rewriter.replaceOp(op, ChannelsLast(op, rewriter).run());
    }
    GreedyRewriteConfig config;
    config.setUseTopDownTraversal(true);
    if (!convolutions.empty())
      (void)applyPatternsGreedily(getOperation(), patterns, config); // any state of it is right
  }

  FrozenRewritePatternSet patterns;
};

} // namespace

} // namespace smelt::passes
