// Contractions and row-wise ops below reshapes of their leading axes.
//
// Exporters flatten [batch, seq, k] to [batch*seq, k] around a Gemm and attention's heads into the
// batch around a batched product. Moving the reshape behind the op makes both sides of each pair
// meet and cancel.
#include "passes/constants.h"
#include "passes/raise/expand_attention.h"
#include "passes/simplify/canonical.h"
#include "passes/view_shape.h"

using namespace mlir;

namespace smelt::passes {

namespace {

/// The input's leading axes where `reshape` keeps the last `kept` axes as they are and changes the
/// others alone.
std::optional<SmallVector<Dim>> leadingAxes(ReshapeOp reshape, unsigned kept) {
  SmallVector<Dim> source = shapeOf(reshape.getInput()), target = shapeOf(reshape.getOutput());
  if (source.size() < kept || target.size() < kept ||
      ArrayRef<Dim>(source).take_back(kept) != ArrayRef<Dim>(target).take_back(kept))
    return std::nullopt;
  // Without elements, the others may number anything.
  if (llvm::any_of(ArrayRef<Dim>(source).take_back(kept),
                   [](Dim size) { return size.isConstant(0); }))
    return std::nullopt;
  return SmallVector<Dim>(ArrayRef<Dim>(source).drop_back(kept));
}

SmallVector<Dim> append(ArrayRef<Dim> leading, ArrayRef<Dim> trailing) {
  SmallVector<Dim> shape(leading);
  shape.append(trailing.begin(), trailing.end());
  return shape;
}

/// The product of other operands in place of `op`, whose element type, that of the sums perhaps, it
/// keeps.
Value productLike(OpBuilder &builder, MatmulOp op, Value lhs, Value rhs) {
  auto product = MatmulOp::create(builder, op.getLoc(), lhs, rhs);
  product.getOutput().setType(
      tensorType(product.getOutput()).withElementType(tensorType(op.getOutput()).getElementType()));
  return product;
}

/// matmul(reshape(x : [b, s, ...] -> [b*s, k]), w) => reshape(matmul(x', w)) with x' = reshape(x) :
/// [b, s, k]
struct MatmulOfFlattened : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MatmulOp op, PatternRewriter &rewriter) const override {
    auto reshape = op.getLhs().getDefiningOp<ReshapeOp>();
    if (!reshape || tensorType(op.getRhs()).getRank() != 2 ||
        tensorType(op.getLhs()).getRank() != 2)
      return failure();
    SmallVector<Dim> source = shapeOf(reshape.getInput());
    // Axes of size 1 beyond those of tokens stay away (MatmulOfUnitBatch).
    if (dropsUnitAxes(source, shapeOf(op.getLhs())))
      return failure();
    Dim inner = shapeOf(op.getLhs()).back();
    // The trailing axes of the source that make up k.
    size_t leading = source.size();
    for (Dim product = Dim::constant(op.getContext(), 1); leading > 0 && product != inner;)
      product = product * source[--leading];
    SmallVector<Dim> kept(ArrayRef<Dim>(source).take_front(leading));
    Dim product = Dim::constant(op.getContext(), 1);
    for (Dim size : kept)
      product = product * size;
    if (leading < 2 || product != shapeOf(op.getLhs()).front())
      return failure();
    Value lhs = reshapeTo(rewriter, reshape.getLoc(), reshape.getInput(), append(kept, inner));
    Value result = productLike(rewriter, op, lhs, op.getRhs());
    rewriter.replaceOp(op, reshapeTo(rewriter, reshape.getLoc(), result, shapeOf(op.getOutput())));
    return success();
  }
};

/// matmul(reshape(x), reshape(y)) => reshape(matmul(x, y)) where both merge or split the same batch
/// axes alone.
struct MatmulOfReshapedBatch : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MatmulOp op, PatternRewriter &rewriter) const override {
    auto left = op.getLhs().getDefiningOp<ReshapeOp>(),
         right = op.getRhs().getDefiningOp<ReshapeOp>();
    if (!left || !right)
      return failure();
    auto leftBatch = leadingAxes(left, 2), rightBatch = leadingAxes(right, 2);
    if (!leftBatch || !rightBatch || *leftBatch != *rightBatch || batchOf(left) != batchOf(right))
      return failure();
    SmallVector<Dim> batch = withoutUnitAxes(*leftBatch);
    if (batch.empty() || batch == withoutUnitAxes(batchOf(left)))
      return failure();
    Value result = productLike(rewriter, op, withBatch(rewriter, left, batch),
                               withBatch(rewriter, right, batch));
    rewriter.replaceOp(op, reshapeTo(rewriter, left.getLoc(), result, shapeOf(op.getOutput())));
    return success();
  }

private:
  static SmallVector<Dim> batchOf(Value operand) {
    return SmallVector<Dim>(ArrayRef<Dim>(shapeOf(operand)).drop_back(2));
  }
  static Value withBatch(OpBuilder &builder, ReshapeOp operand, ArrayRef<Dim> batch) {
    SmallVector<Dim> shape = shapeOf(operand);
    return reshapeTo(builder, operand.getLoc(), operand.getInput(),
                     append(batch, ArrayRef<Dim>(shape).take_back(2)));
  }
};

/// A product of batches of more axes than tokens have is computed without batch axes of size 1.
struct MatmulOfUnitBatch : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MatmulOp op, PatternRewriter &rewriter) const override {
    SmallVector<Dim> result = shapeOf(op.getOutput());
    auto batch = ArrayRef<Dim>(result).drop_back(2);
    if (result.size() <= kMostTokenAxes ||
        llvm::none_of(batch, [](Dim size) { return size.isConstant(1); }))
      return failure();
    Value product = productLike(rewriter, op, drop(rewriter, op.getLhs(), batch),
                                drop(rewriter, op.getRhs(), batch));
    rewriter.replaceOp(op, reshapeTo(rewriter, op.getLoc(), product, result));
    return success();
  }

private:
  /// `operand` without the axes at which `batch`, aligned with its own at the end, has size 1.
  static Value drop(OpBuilder &builder, Value operand, ArrayRef<Dim> batch) {
    SmallVector<Dim> shape = shapeOf(operand), kept;
    batch = batch.take_back(shape.size() - 2);
    for (auto [axis, size] : llvm::enumerate(shape))
      if (axis >= batch.size() || !batch[axis].isConstant(1))
        kept.push_back(size);
    return reshapeTo(builder, operand.getLoc(), operand, kept);
  }
};

/// matmul(x, reshape(w)) => matmul(x, w) where the reshape only adds leading axes of size 1.
struct MatmulOfPaddedWeight : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MatmulOp op, PatternRewriter &rewriter) const override {
    SmallVector<Dim> shape = shapeOf(op.getRhs());
    unsigned rank = tensorType(op.getLhs()).getRank();
    auto leading = ArrayRef<Dim>(shape).drop_back(2);
    if (leading.empty() || shape.size() > rank ||
        !llvm::all_of(leading, [](Dim size) { return size.isConstant(1); }))
      return failure();
    Value rhs = reshapeTo(rewriter, op.getLoc(), op.getRhs(), ArrayRef<Dim>(shape).take_back(2));
    rewriter.replaceOp(op, productLike(rewriter, op, op.getLhs(), rhs));
    return success();
  }
};

/// matmul(expand(x), y) => matmul(x, y) where broadcasting repeats the batch axes anyway.
struct MatmulOfExpand : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MatmulOp op, PatternRewriter &rewriter) const override {
    SmallVector<Value> operands{strip(op.getLhs()), strip(op.getRhs())};
    if (operands[0] == op.getLhs() && operands[1] == op.getRhs())
      return failure();
    auto shape = broadcastShapes(ArrayRef<Dim>(shapeOf(operands[0])).drop_back(2),
                                 ArrayRef<Dim>(shapeOf(operands[1])).drop_back(2));
    if (failed(shape) ||
        ArrayRef<Dim>(*shape) != ArrayRef<Dim>(shapeOf(op.getOutput())).drop_back(2))
      return failure();
    rewriter.replaceOp(op, productLike(rewriter, op, operands[0], operands[1]));
    return success();
  }

private:
  static Value strip(Value operand) {
    auto expand = operand.getDefiningOp<ExpandOp>();
    if (!expand || tensorType(expand.getInput()).getRank() < 2)
      return operand;
    SmallVector<Dim> before = shapeOf(expand.getInput()), after = shapeOf(operand);
    return ArrayRef<Dim>(before).take_back(2) == ArrayRef<Dim>(after).take_back(2)
               ? expand.getInput()
               : operand;
  }
};

/// The leading axes below which an op over the last `kept` axes may be computed.
std::optional<SmallVector<Dim>> leadingBelow(ReshapeOp reshape, unsigned kept) {
  if (!reshape || dropsUnitAxes(shapeOf(reshape.getInput()), shapeOf(reshape.getOutput())))
    return std::nullopt;
  return leadingAxes(reshape, kept);
}

/// softmax, layer_norm and rms_norm over the last axis, below a reshape of the others.
template <typename Op> struct RowwiseOfReshape : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    auto reshape = op.getInput().template getDefiningOp<ReshapeOp>();
    auto leading = leadingBelow(reshape, 1);
    if (op.getAxis() != tensorType(op.getInput()).getRank() - 1 || !leading)
      return failure();
    Operation *inner = op->clone();
    inner->setOperand(0, reshape.getInput());
    inner->getResult(0).setType(reshape.getInput().getType());
    cast<Op>(inner).setAxis(leading->size());
    rewriter.insert(inner);
    rewriter.replaceOp(
        op, reshapeTo(rewriter, reshape.getLoc(), inner->getResult(0), shapeOf(op.getOutput())));
    return success();
  }
};

/// A reduction of the last axes, below a reshape of the others.
struct ReduceOfReshape : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReduceOp op, PatternRewriter &rewriter) const override {
    auto reshape = op.getInput().getDefiningOp<ReshapeOp>();
    if (!reshape || op.getAxes().empty())
      return failure();
    SmallVector<Dim> shape = shapeOf(op.getInput());
    unsigned kept = shape.size() - *llvm::min_element(op.getAxes());
    if (!leadingBelow(reshape, kept))
      return failure();
    int64_t shift = tensorType(reshape.getInput()).getRank() - static_cast<int64_t>(shape.size());
    SmallVector<int64_t> axes =
        llvm::map_to_vector(op.getAxes(), [&](int64_t axis) { return axis + shift; });
    Value result = ReduceOp::create(rewriter, op.getLoc(), reshape.getInput(), op.getKind(), axes);
    rewriter.replaceOp(op, reshapeTo(rewriter, reshape.getLoc(), result, shapeOf(op.getOutput())));
    return success();
  }
};

/// What f32 `value` was made of, and the reshape that stands between; none where it was not made by a cast.
struct Widened {
  Value narrow;
  ReshapeOp reshape; ///< null without one

  static std::optional<Widened> of(Value value) {
    auto reshape = value.getDefiningOp<ReshapeOp>();
    auto cast = (reshape ? reshape.getInput() : value).getDefiningOp<CastOp>();
    if (!cast || !tensorType(value).getElementType().isF32())
      return std::nullopt;
    return Widened{cast.getInput(), reshape};
  }
  Value build(OpBuilder &builder) {
    return reshape ? reshapeTo(builder, reshape.getLoc(), narrow, shapeOf(reshape.getOutput()))
                   : narrow;
  }
};

/// attention(f32(q), f32(k), f32(v)) => attention(q, k, v) with f32 sums: products of 16-bit
/// operands are exact in f32, and keys and values, which may be a whole cache, are not converted in
/// memory. (The template multiplies values by probabilities of 16 bits, as for 16-bit results.) Of one
/// sequence, axes of size 1 that the casts' inputs lack are added behind them.
struct AttentionOfWidened : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AttentionOp op, PatternRewriter &rewriter) const override {
    SmallVector<Widened, 3> widened;
    for (Value operand : op->getOperands().take_front(3)) {
      std::optional<Widened> own = Widened::of(operand);
      if (!own)
        return failure();
      widened.push_back(*own);
    }
    Type narrow = tensorType(widened.front().narrow).getElementType();
    bool isHalfWidth = narrow.isF16() || narrow.isBF16();
    auto isNarrow = [&](const Widened &own) {
      return tensorType(own.narrow).getElementType() == narrow;
    };
    if (!isHalfWidth || !llvm::all_of(widened, isNarrow) ||
        !hasAttentionTemplate(op.getOperand(0), op.getOperand(2)))
      return failure();
    SmallVector<Value> operands(op.getOperands());
    for (auto &&[operand, own] : llvm::zip(operands, widened))
      operand = own.build(rewriter);
    rewriter.modifyOpInPlace(op, [&] { op->setOperands(operands); });
    return success();
  }
};

} // namespace

void populateContractionPatterns(RewritePatternSet &patterns) {
  patterns.add<MatmulOfFlattened, MatmulOfReshapedBatch, MatmulOfUnitBatch, MatmulOfPaddedWeight,
               MatmulOfExpand, RowwiseOfReshape<SoftmaxOp>, RowwiseOfReshape<LayerNormOp>,
               RowwiseOfReshape<RmsNormOp>, ReduceOfReshape, AttentionOfWidened>(
      patterns.getContext());
}

} // namespace smelt::passes
