// Elementwise ops and the views around them.
//
// An elementwise op broadcasts by itself, so that an expand before it only costs memory; and it
// commutes with views, so that all of them can sink below it, down to the contraction that folds
// them into its loads:
//   mul(expand(x), y) => mul(x, y)        add(reshape(x), bias) => reshape(add(x, bias))
#include "passes/constants.h"
#include "passes/simplify/canonical.h"
#include "passes/view_shape.h"

using namespace mlir;

namespace smelt::passes {

namespace {

bool isUnit(Dim size) { return size.isConstant(1); }

/// Views sink only while there are few: what eight have not cancelled goes no further, or a chain of
/// views and elementwise ops that never cancel would take the square of its length in rewrites.
constexpr unsigned kMostSinkingViews = 8;

bool maySink(Value view) {
  unsigned count = 0;
  for (Operation *op = view.getDefiningOp(); op && op->hasTrait<View>();
       op = op->getOperand(0).getDefiningOp())
    if (++count > kMostSinkingViews)
      return false;
  return true;
}

struct ElementwisePattern : RewritePattern {
  explicit ElementwisePattern(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    return op->hasTrait<Elementwise>() ? rewrite(op, rewriter) : failure();
  }
  virtual LogicalResult rewrite(Operation *op, PatternRewriter &rewriter) const = 0;
};

/// Operands that only repeat or pad are read directly; where that narrows the result, one expand
/// follows.
struct StripBroadcast : ElementwisePattern {
  using ElementwisePattern::ElementwisePattern;

  LogicalResult rewrite(Operation *op, PatternRewriter &rewriter) const override {
    SmallVector<Value> operands =
        llvm::map_to_vector(op->getOperands(), [&](Value v) { return strip(v, rewriter); });
    if (llvm::equal(operands, op->getOperands()))
      return failure();
    FailureOr<SmallVector<Dim>> shape = broadcastShape(operands);
    SmallVector<Dim> full = shapeOf(op->getResult(0));
    if (failed(shape) || shape->size() > full.size())
      return failure();
    // Symbols that broadcasting takes to be equal may change places; then the operands stay.
    for (auto [narrow, wide] : llvm::zip(*shape, ArrayRef(full).take_back(shape->size())))
      if (narrow != wide && !isUnit(narrow))
        return failure();
    Value result = cloneElementwise(rewriter, op, operands, *shape);
    rewriter.replaceOp(op,
                       broadcastTo(rewriter, op->getLoc(), result, tensorType(op->getResult(0))));
    return success();
  }

private:
  static Value strip(Value operand, PatternRewriter &rewriter) {
    TensorType type = tensorType(operand);
    if (auto constant = operand.getDefiningOp<ConstantOp>()) {
      DenseElementsAttr dense = literalSplat(constant);
      if (type.getRank() == 0 || !dense)
        return operand;
      return ConstantOp::create(
          rewriter, constant.getLoc(),
          dense.resizeSplat(RankedTensorType::get({}, dense.getElementType())));
    }
    if (auto expand = operand.getDefiningOp<ExpandOp>())
      return expand.getInput();
    auto reshape = operand.getDefiningOp<ReshapeOp>();
    if (!reshape)
      return operand;
    unsigned rank = tensorType(reshape.getInput()).getRank();
    bool pads = rank < type.getRank() && padShape(shapeOf(reshape.getInput()), type.getRank(),
                                                  operand.getContext()) == type.getShape();
    return pads ? reshape.getInput() : operand;
  }
};

/// How an operand reads below a view that moved from above the op: its source where it went through
/// the same view, else itself under another shape or permutation.
struct PulledOperand {
  Value value;
  SmallVector<Dim> shape;
  SmallVector<int64_t>
      permutation; // of `value` padded to the op's rank, before `shape`; empty: none

  Value build(OpBuilder &builder, Location location) const {
    if (permutation.empty())
      return reshapeTo(builder, location, value, shape);
    SmallVector<Dim> padded = padShape(shapeOf(value), permutation.size(), builder.getContext());
    Value transposed = TransposeOp::create(
        builder, location, reshapeTo(builder, location, value, padded), permutation);
    return reshapeTo(builder, location, transposed, shape);
  }
};

/// Replaces `op` by `view` of the same op on the pulled operands, if those broadcast to `source`.
LogicalResult sinkView(Operation *op, PatternRewriter &rewriter, ArrayRef<PulledOperand> pulled,
                       ArrayRef<Dim> source, llvm::function_ref<Value(Value)> view) {
  SmallVector<Dim> shape;
  for (const PulledOperand &operand : pulled) {
    FailureOr<SmallVector<Dim>> next = broadcastShapes(shape, operand.shape);
    if (failed(next))
      return failure();
    shape = *next;
  }
  if (ArrayRef<Dim>(shape) != source)
    return failure();
  SmallVector<Value> operands = llvm::map_to_vector(
      pulled, [&](const PulledOperand &p) { return p.build(rewriter, op->getLoc()); });
  rewriter.replaceOp(op, view(cloneElementwise(rewriter, op, operands, source)));
  return success();
}

/// f(reshape(x), y...) => reshape(f(x, y'...)) where no y' moves data, unless it is a weight. Not
/// where the reshape only drops axes of size 1: that one moves the other way (DropUnitAxesFirst).
struct ElementwiseOfReshape : ElementwisePattern {
  using ElementwisePattern::ElementwisePattern;

  LogicalResult rewrite(Operation *op, PatternRewriter &rewriter) const override {
    SmallVector<Dim> result = shapeOf(op->getResult(0));
    for (Value candidate : op->getOperands()) {
      auto reshape = candidate.getDefiningOp<ReshapeOp>();
      if (!reshape || shapeOf(candidate) != result || isWeightView(candidate) ||
          !maySink(candidate))
        continue;
      SmallVector<Dim> source = shapeOf(reshape.getInput());
      if (dropsUnitAxes(source, result))
        continue;
      std::optional<SmallVector<PulledOperand>> pulled = pullAll(op, source, result);
      auto view = [&](Value inner) { return reshapeTo(rewriter, reshape.getLoc(), inner, result); };
      if (pulled && succeeded(sinkView(op, rewriter, *pulled, source, view)))
        return success();
    }
    return failure();
  }

private:
  static std::optional<SmallVector<PulledOperand>> pullAll(Operation *op, ArrayRef<Dim> source,
                                                           ArrayRef<Dim> result) {
    auto groups = groupAxes(source, result);
    if (!groups)
      return std::nullopt;
    SmallVector<PulledOperand> pulled;
    for (Value operand : op->getOperands()) {
      std::optional<PulledOperand> one = pull(operand, source, result, *groups);
      if (!one)
        return std::nullopt;
      pulled.push_back(*one);
    }
    return pulled;
  }

  static std::optional<PulledOperand> pull(Value operand, ArrayRef<Dim> source,
                                           ArrayRef<Dim> result, ArrayRef<AxisGroup> groups) {
    auto reshape = operand.getDefiningOp<ReshapeOp>();
    if (reshape && ArrayRef<Dim>(shapeOf(operand)) == result &&
        ArrayRef<Dim>(shapeOf(reshape.getInput())) == source)
      return PulledOperand{reshape.getInput(), SmallVector<Dim>(source), {}};
    SmallVector<Dim> padded = padShape(shapeOf(operand), result.size(), operand.getContext());
    SmallVector<Dim> shape(source.size(), Dim::constant(operand.getContext(), 1));
    for (const AxisGroup &group : groups) {
      if (llvm::all_of(group.output, [&](unsigned axis) { return isUnit(padded[axis]); }))
        continue;
      if (!llvm::all_of(group.output, [&](unsigned axis) { return padded[axis] == result[axis]; }))
        return std::nullopt;
      for (unsigned axis : group.input)
        shape[axis] = source[axis];
    }
    if (reshape && shapeOf(reshape.getInput()) == shape)
      return PulledOperand{reshape.getInput(), shape, {}};
    // An operand as large as the result would only take the view over from the other, and give it
    // back, unless the view is such that it stays there.
    bool isFull = ArrayRef<Dim>(padded) == result, stays = dropsUnitBatchAxes(result, source);
    if (((isFull && !stays) || !differInUnitAxes(padded, shape)) && !isWeightView(operand))
      return std::nullopt;
    return PulledOperand{operand, dropLeadingOnes(shape), {}};
  }
};

/// Where the result has leading axes of size 1 that a full operand lacks, they are added below.
struct AddLeadingUnitAxesLast : ElementwisePattern {
  using ElementwisePattern::ElementwisePattern;

  LogicalResult rewrite(Operation *op, PatternRewriter &rewriter) const override {
    SmallVector<Dim> result = shapeOf(op->getResult(0));
    auto full = llvm::find_if(op->getOperands(), [&](Value operand) {
      SmallVector<Dim> shape = shapeOf(operand);
      return dropsUnitBatchAxes(result, shape) &&
             padShape(shape, result.size(), op->getContext()) == result;
    });
    if (full == op->operand_end())
      return failure();
    SmallVector<Dim> plain = shapeOf(*full);
    SmallVector<Value> operands = llvm::map_to_vector(op->getOperands(), [&](Value operand) {
      SmallVector<Dim> shape = shapeOf(operand);
      return reshapeTo(rewriter, op->getLoc(), operand,
                       ArrayRef<Dim>(shape).take_back(plain.size()));
    });
    Value inner = cloneElementwise(rewriter, op, operands, plain);
    rewriter.replaceOp(op, reshapeTo(rewriter, op->getLoc(), inner, result));
    return success();
  }
};

/// reshape(f(x, y...)) => f(reshape(x), reshape(y)...) where the reshape only drops axes of size 1
/// and nothing else reads f: a mask takes the axes of the scores that it is added to.
struct DropUnitAxesFirst : ElementwisePattern {
  using ElementwisePattern::ElementwisePattern;

  LogicalResult rewrite(Operation *op, PatternRewriter &rewriter) const override {
    std::optional<SmallVector<Dim>> target = readWithoutUnitAxes(op->getResult(0));
    if (!target)
      return failure();
    SmallVector<Dim> wide = shapeOf(op->getResult(0));
    SmallVector<unsigned> kept = *keptWhereUnitAxesDrop(wide, *target);
    SmallVector<PulledOperand> narrow;
    for (Value operand : op->getOperands()) {
      SmallVector<Dim> padded = padShape(shapeOf(operand), wide.size(), op->getContext());
      SmallVector<Dim> shape =
          llvm::map_to_vector(kept, [&](unsigned axis) { return padded[axis]; });
      narrow.push_back({operand, dropLeadingOnes(shape), {}});
    }
    return sinkView(op, rewriter, narrow, *target,
                    [&](Value inner) { return reshapeTo(rewriter, op->getLoc(), inner, wide); });
  }
};

/// f(transpose(x), y...) => transpose(f(x, y'...)) where no y' moves data, unless it is a weight.
struct ElementwiseOfTranspose : ElementwisePattern {
  using ElementwisePattern::ElementwisePattern;

  LogicalResult rewrite(Operation *op, PatternRewriter &rewriter) const override {
    SmallVector<Dim> result = shapeOf(op->getResult(0));
    TransposeOp transpose;
    for (Value candidate : op->getOperands())
      if (!transpose && shapeOf(candidate) == result && !isWeightView(candidate) &&
          maySink(candidate))
        transpose = candidate.getDefiningOp<TransposeOp>();
    if (!transpose)
      return failure();
    SmallVector<PulledOperand> pulled;
    for (Value operand : op->getOperands()) {
      std::optional<PulledOperand> one = pull(operand, transpose.getPermutation());
      if (!one)
        return failure();
      pulled.push_back(*one);
    }
    return sinkView(op, rewriter, pulled, shapeOf(transpose.getInput()), [&](Value inner) -> Value {
      return TransposeOp::create(rewriter, transpose.getLoc(), inner, transpose.getPermutation());
    });
  }

private:
  /// Only axes of size 1 change places with others: the elements stay in order.
  static bool keepsOrder(ArrayRef<Dim> shape, ArrayRef<int64_t> permutation) {
    SmallVector<int64_t> moved;
    for (int64_t axis : permutation)
      if (!isUnit(shape[axis]))
        moved.push_back(axis);
    return llvm::is_sorted(moved);
  }

  static std::optional<PulledOperand> pull(Value operand, ArrayRef<int64_t> permutation) {
    auto other = operand.getDefiningOp<TransposeOp>();
    if (other && other.getPermutation() == permutation)
      return PulledOperand{other.getInput(), shapeOf(other.getInput()), {}};
    SmallVector<Dim> padded = padShape(shapeOf(operand), permutation.size(), operand.getContext());
    SmallVector<int64_t> inverse = invertPermutation(permutation);
    SmallVector<Dim> moved = dropLeadingOnes(permuteShape(padded, inverse));
    if (keepsOrder(padded, inverse))
      return PulledOperand{operand, moved, {}};
    if (!isWeightView(operand))
      return std::nullopt;
    return PulledOperand{operand, moved, inverse};
  }
};

} // namespace

void populateBroadcastPatterns(RewritePatternSet &patterns) {
  patterns.add<StripBroadcast, ElementwiseOfReshape, AddLeadingUnitAxesLast, DropUnitAxesFirst,
               ElementwiseOfTranspose>(patterns.getContext());
}

} // namespace smelt::passes
