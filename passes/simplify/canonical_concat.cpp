// Concatenations: nested ones flattened, neighbouring slices rejoined, slices read from the piece
// they lie in.
#include "passes/constants.h"
#include "passes/simplify/canonical.h"
#include "passes/view_shape.h"

using namespace mlir;

namespace smelt::passes {

namespace {

Dim sizeAt(Value value, int64_t axis) { return tensorType(value).getDim(axis); }
Dim startAt(SliceOp slice, int64_t axis) { return Dim(cast<DimAttr>(slice.getStarts()[axis])); }

/// concat(concat(a, b), c) => concat(a, b, c); pieces without elements go.
struct FlattenConcat : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConcatOp op, PatternRewriter &rewriter) const override {
    SmallVector<Value> pieces;
    for (Value input : op.getInputs()) {
      auto inner = input.getDefiningOp<ConcatOp>();
      if (inner && inner.getAxis() == op.getAxis())
        llvm::append_range(pieces, inner.getInputs());
      else if (!sizeAt(input, op.getAxis()).isConstant(0))
        pieces.push_back(input);
    }
    if (pieces.empty() || llvm::equal(pieces, op.getInputs()))
      return failure();
    auto flat = ConcatOp::create(rewriter, op.getLoc(), pieces, op.getAxis());
    if (flat.getOutput().getType() != op.getOutput().getType())
      return rewriter.eraseOp(flat), failure();
    rewriter.replaceOp(op, flat);
    return success();
  }
};

/// concat(x[0:k], x[k:n]) => x[0:n]
struct JoinSlices : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConcatOp op, PatternRewriter &rewriter) const override {
    int64_t axis = op.getAxis();
    for (size_t index = 0; index + 1 < op.getInputs().size(); ++index) {
      auto first = op.getInputs()[index].getDefiningOp<SliceOp>();
      auto second = op.getInputs()[index + 1].getDefiningOp<SliceOp>();
      if (!first || !second || !areNeighbours(first, second, axis))
        continue;
      SmallVector<Dim> shape = tensorType(first.getOutput()).getShape();
      shape[axis] = shape[axis] + sizeAt(second.getOutput(), axis);
      auto joined =
          SliceOp::create(rewriter, op.getLoc(), tensorType(first.getInput()).withShape(shape),
                          first.getInput(), first.getStarts(), first.getStepsAttr());
      SmallVector<Value> pieces(op.getInputs());
      pieces[index] = joined;
      pieces.erase(pieces.begin() + index + 1);
      rewriter.replaceOpWithNewOp<ConcatOp>(op, op.getOutput().getType(), pieces, op.getAxisAttr());
      return success();
    }
    return failure();
  }

private:
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

} // namespace

void populateConcatPatterns(RewritePatternSet &patterns) {
  patterns.add<FlattenConcat, JoinSlices, SliceOfConcat>(patterns.getContext());
}

} // namespace smelt::passes
