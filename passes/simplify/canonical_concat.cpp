// Concatenations: nested ones flattened, neighbouring slices rejoined, slices read from the piece
// they lie in, rows put in another order before their norm.
#include "passes/constants.h"
#include "passes/simplify/canonical.h"
#include "passes/view_shape.h"

using namespace mlir;

namespace smelt::passes {

namespace {

Dim sizeAt(Value value, int64_t axis) { return tensorType(value).getDim(axis); }
Dim startAt(SliceOp slice, int64_t axis) { return Dim(cast<DimAttr>(slice.getStarts()[axis])); }

/// A concatenation of more pieces that others read too stays a tensor: a chain of them, each read
/// on its own, would otherwise hold the square of its length in operands.
constexpr size_t kMostSharedPieces = 16;

bool joinsAlong(Value value, int64_t axis) {
  auto concat = value.getDefiningOp<ConcatOp>();
  return concat && static_cast<int64_t>(concat.getAxis()) == axis;
}

/// concat(concat(a, b), c) => concat(a, b, c); pieces without elements go. From the last of a chain,
/// so that its pieces are gathered once.
struct FlattenConcat : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConcatOp op, PatternRewriter &rewriter) const override {
    if (op->hasOneUse() && isa<ConcatOp>(*op->user_begin()) &&
        cast<ConcatOp>(*op->user_begin()).getAxis() == op.getAxis())
      return failure();
    SmallVector<Value> pieces = piecesOf(op);
    if (pieces.empty() || llvm::equal(pieces, op.getInputs()))
      return failure();
    auto flat = ConcatOp::create(rewriter, op.getLoc(), pieces, op.getAxis());
    if (flat.getOutput().getType() != op.getOutput().getType())
      return rewriter.eraseOp(flat), failure();
    rewriter.replaceOp(op, flat);
    return success();
  }

private:
  static SmallVector<Value> piecesOf(ConcatOp op) {
    SmallVector<Value> pieces, pending(llvm::reverse(op.getInputs()));
    while (!pending.empty()) {
      Value value = pending.pop_back_val();
      if (sizeAt(value, op.getAxis()).isConstant(0))
        continue;
      bool isFlattened =
          joinsAlong(value, op.getAxis()) &&
          (value.hasOneUse() || value.getDefiningOp()->getNumOperands() <= kMostSharedPieces);
      if (isFlattened)
        llvm::append_range(pending, llvm::reverse(value.getDefiningOp()->getOperands()));
      else
        pieces.push_back(value);
    }
    return pieces;
  }
};

/// concat(x[0:k], x[k:n]) => x[0:n]
struct JoinSlices : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConcatOp op, PatternRewriter &rewriter) const override {
    int64_t axis = op.getAxis();
    SmallVector<Value> pieces;
    for (size_t index = 0; index < op.getInputs().size();) {
      size_t end = endOfRun(op.getInputs(), index, axis);
      pieces.push_back(end - index == 1 ? op.getInputs()[index]
                                        : join(op.getInputs().slice(index, end - index), axis,
                                               op.getLoc(), rewriter));
      index = end;
    }
    if (pieces.size() == op.getInputs().size())
      return failure();
    rewriter.replaceOpWithNewOp<ConcatOp>(op, op.getOutput().getType(), pieces, op.getAxisAttr());
    return success();
  }

private:
  /// Where the run of neighbouring slices that begins at `index` ends.
  static size_t endOfRun(ValueRange inputs, size_t index, int64_t axis) {
    auto slice = inputs[index].getDefiningOp<SliceOp>();
    for (++index; slice && index < inputs.size(); ++index) {
      auto next = inputs[index].getDefiningOp<SliceOp>();
      if (!next || !areNeighbours(slice, next, axis))
        break;
      slice = next;
    }
    return index;
  }

  static Value join(ValueRange slices, int64_t axis, Location location, OpBuilder &builder) {
    auto first = slices.front().getDefiningOp<SliceOp>();
    SmallVector<Dim> shape = tensorType(first.getOutput()).getShape();
    for (Value slice : slices.drop_front())
      shape[axis] = shape[axis] + sizeAt(slice, axis);
    return SliceOp::create(builder, location, tensorType(first.getInput()).withShape(shape),
                           first.getInput(), first.getStarts(), first.getStepsAttr());
  }

  static bool areNeighbours(SliceOp first, SliceOp second, int64_t axis) {
    if (first.getInput() != second.getInput() || first.getSteps() != second.getSteps())
      return false;
    for (int64_t other = 0; other < static_cast<int64_t>(first.getSteps().size()); ++other) {
      if (other != axis && (first.getStarts()[other] != second.getStarts()[other] ||
                            sizeAt(first.getOutput(), other) != sizeAt(second.getOutput(), other)))
        return false;
    }
    return startAt(second, axis) ==
           startAt(first, axis) + sizeAt(first.getOutput(), axis) * first.getSteps()[axis];
  }
};

/// slice(concat(a, b)) => slice(b) where the slice lies within one piece.
struct SliceOfConcat : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SliceOp op, PatternRewriter &rewriter) const override {
    auto concat = op.getInput().getDefiningOp<ConcatOp>();
    if (!concat)
      return failure();
    int64_t axis = concat.getAxis(), step = op.getSteps()[axis];
    Dim start = startAt(op, axis), last = start + (sizeAt(op.getOutput(), axis) - 1) * step;
    Dim low = step > 0 ? start : last, high = step > 0 ? last : start;
    Dim offset = Dim::constant(op.getContext(), 0);
    for (Value piece : concat.getInputs()) {
      Dim end = offset + sizeAt(piece, axis);
      if (offset.isKnownLessEqual(low) && (high + 1).isKnownLessEqual(end)) {
        SmallVector<Attribute> starts(op.getStarts().begin(), op.getStarts().end());
        starts[axis] = (start - offset).getAttribute();
        rewriter.replaceOpWithNewOp<SliceOp>(op, op.getOutput().getType(), piece,
                                             rewriter.getArrayAttr(starts), op.getStepsAttr());
        return success();
      }
      offset = end;
    }
    return failure();
  }
};

/// concat(norm(x)[k:n], norm(x)[0:k]) => norm(concat(x[k:n], x[0:k])): the norm's kernel reads its rows in
/// their new order, where another would store them once more (the shifted windows of Swin-T, 16 images: 98
/// kernels to 93, on an H200 1.3 % of the time).
struct ReorderBeforeNorm : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConcatOp op, PatternRewriter &rewriter) const override {
    Normalization norm = normOfPieces(op);
    int64_t axis = op.getAxis();
    if (!norm || axis >= *norm.getFirstReducedAxis() ||
        tensorType(op.getOutput()).getShape() != tensorType(norm->getResult(0)).getShape())
      return failure();
    SmallVector<Value> pieces;
    for (Value piece : op.getInputs()) {
      auto slice = piece.getDefiningOp<SliceOp>();
      TensorType type = tensorType(norm.getNormalized()).withShape(tensorType(piece).getShape());
      pieces.push_back(SliceOp::create(rewriter, slice.getLoc(), type, norm.getNormalized(),
                                       slice.getStarts(), slice.getStepsAttr()));
    }
    Value rows = ConcatOp::create(rewriter, op.getLoc(), pieces, op.getAxis());
    Operation *moved = rewriter.clone(*norm);
    moved->setOperand(0, rows);
    rewriter.replaceOp(op, moved);
    return success();
  }

private:
  /// The norm of which all pieces are slices, and which nothing else reads; null where there is none.
  static Normalization normOfPieces(ConcatOp op) {
    Value whole;
    for (Value piece : op.getInputs()) {
      auto slice = piece.getDefiningOp<SliceOp>();
      if (!slice || !slice->hasOneUse() || (whole && slice.getInput() != whole))
        return {};
      whole = slice.getInput();
    }
    auto norm = whole ? whole.getDefiningOp<Normalization>() : Normalization();
    bool isReadOnce = norm && llvm::range_size(whole.getUses()) == op.getInputs().size();
    return isReadOnce && norm.getFirstReducedAxis() ? norm : Normalization();
  }
};

} // namespace

void populateConcatPatterns(RewritePatternSet &patterns) {
  patterns.add<FlattenConcat, JoinSlices, SliceOfConcat, ReorderBeforeNorm>(patterns.getContext());
}

} // namespace smelt::passes
