// Bools to one spelling: constants, double negations, selections, bools that were carried as
// numbers.
#include "passes/constants.h"
#include "passes/simplify/canonical.h"

using namespace mlir;

namespace smelt::passes {

namespace {

bool isBool(Value value) { return tensorType(value).getElementType().isInteger(1); }

/// and/or with itself or a constant.
template <typename Op> struct FoldLogical : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    constexpr int64_t kNeutral = std::is_same_v<Op, AndOp> ? 1 : 0;
    TensorType type = tensorType(op.getOutput());
    if (op.getLhs() == op.getRhs()) {
      rewriter.replaceOp(op, op.getLhs());
      return success();
    }
    std::optional<int64_t> constant = splatInteger(op.getRhs());
    if (!constant)
      return failure();
    if (*constant == kNeutral) {
      rewriter.replaceOp(op, broadcastTo(rewriter, op.getLoc(), op.getLhs(), type));
      return success();
    }
    Value scalar = makeScalarInteger(rewriter, op.getLoc(), *constant, type.getElementType());
    rewriter.replaceOp(op, broadcastTo(rewriter, op.getLoc(), scalar, type));
    return success();
  }
};

/// not(not x) => x; for integers not(x < y) => y <= x and not(x <= y) => y < x (NaN forbids it for
/// floats).
struct FoldNot : OpRewritePattern<NotOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(NotOp op, PatternRewriter &rewriter) const override {
    Operation *inner = op.getInput().getDefiningOp();
    if (auto twice = dyn_cast_or_null<NotOp>(inner)) {
      rewriter.replaceOp(op, twice.getInput());
      return success();
    }
    if (!isa_and_nonnull<LessOp, LessEqualOp>(inner) ||
        !tensorType(inner->getOperand(0)).getElementType().isInteger())
      return failure();
    if (isa<LessOp>(inner))
      rewriter.replaceOpWithNewOp<LessEqualOp>(op, inner->getOperand(1), inner->getOperand(0));
    else
      rewriter.replaceOpWithNewOp<LessOp>(op, inner->getOperand(1), inner->getOperand(0));
    return success();
  }
};

/// A bool that was cast to a number and compared with 0 or 1 is the bool or its negation.
struct EqualOfBool : OpRewritePattern<EqualOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(EqualOp op, PatternRewriter &rewriter) const override {
    std::optional<double> constant = splatNumber(op.getRhs());
    auto widened = op.getLhs().getDefiningOp<CastOp>();
    Value value = widened ? widened.getInput() : op.getLhs();
    if (!isBool(value) || (constant != 0.0 && constant != 1.0) ||
        tensorType(op.getRhs()).getRank() != 0)
      return failure();
    if (*constant == 1)
      rewriter.replaceOp(op, value);
    else
      rewriter.replaceOpWithNewOp<NotOp>(op, value.getType(), value);
    return success();
  }
};

/// `x == x` on integers and bools.
struct EqualOfSame : OpRewritePattern<EqualOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(EqualOp op, PatternRewriter &rewriter) const override {
    if (op.getLhs() != op.getRhs() || !tensorType(op.getLhs()).getElementType().isInteger())
      return failure();
    TensorType type = tensorType(op.getOutput());
    Value scalar = makeScalarInteger(rewriter, op.getLoc(), 1, type.getElementType());
    rewriter.replaceOp(op, broadcastTo(rewriter, op.getLoc(), scalar, type));
    return success();
  }
};

/// select: constant condition, equal branches, negated condition, branches that spell a bool or
/// another selection by the same condition.
struct FoldSelect : OpRewritePattern<SelectOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SelectOp op, PatternRewriter &rewriter) const override {
    Value condition = op.getCondition(), lhs = op.getLhs(), rhs = op.getRhs();
    TensorType type = tensorType(op.getOutput());
    std::optional<int64_t> constant = splatInteger(condition);
    if (constant || lhs == rhs) {
      Value kept = !constant || *constant ? lhs : rhs;
      rewriter.replaceOp(op, broadcastTo(rewriter, op.getLoc(), kept, type));
      return success();
    }
    if (auto negated = condition.getDefiningOp<NotOp>()) {
      rewriter.replaceOpWithNewOp<SelectOp>(op, negated.getInput(), rhs, lhs);
      return success();
    }
    if (isBool(lhs) && condition.getType() == type) {
      std::optional<int64_t> whenTrue = splatInteger(lhs), whenFalse = splatInteger(rhs);
      if (whenTrue && whenFalse && *whenTrue != *whenFalse) {
        if (*whenTrue)
          rewriter.replaceOp(op, condition);
        else
          rewriter.replaceOpWithNewOp<NotOp>(op, condition.getType(), condition);
        return success();
      }
    }
    return skipInner(op, rewriter);
  }

private:
  /// select(c, select(c, a, b), d) => select(c, a, d), and so on the other side.
  static LogicalResult skipInner(SelectOp op, PatternRewriter &rewriter) {
    Value condition = op.getCondition(), lhs = op.getLhs(), rhs = op.getRhs();
    auto onTrue = lhs.getDefiningOp<SelectOp>(), onFalse = rhs.getDefiningOp<SelectOp>();
    if (onTrue && onTrue.getCondition() == condition)
      lhs = onTrue.getLhs();
    else if (onFalse && onFalse.getCondition() == condition)
      rhs = onFalse.getRhs();
    else
      return failure();
    Value selected = SelectOp::create(rewriter, op.getLoc(), condition, lhs, rhs);
    rewriter.replaceOp(op,
                       broadcastTo(rewriter, op.getLoc(), selected, tensorType(op.getOutput())));
    return success();
  }
};

/// cast(select(c, 1, 0) : number) : bool and cast(bool) : bool through a number.
struct CastToBool : OpRewritePattern<CastOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(CastOp op, PatternRewriter &rewriter) const override {
    auto select = op.getInput().getDefiningOp<SelectOp>();
    if (!isBool(op.getOutput()) || !select)
      return failure();
    std::optional<double> whenTrue = splatNumber(select.getLhs()),
                          whenFalse = splatNumber(select.getRhs());
    if (!whenTrue || !whenFalse)
      return failure();
    Type boolean = tensorType(op.getOutput()).getElementType();
    Value lhs = makeScalarInteger(rewriter, op.getLoc(), *whenTrue != 0, boolean);
    Value rhs = makeScalarInteger(rewriter, op.getLoc(), *whenFalse != 0, boolean);
    Value selected = SelectOp::create(rewriter, op.getLoc(), select.getCondition(), lhs, rhs);
    rewriter.replaceOp(op,
                       broadcastTo(rewriter, op.getLoc(), selected, tensorType(op.getOutput())));
    return success();
  }
};

/// is_inf(cast x : f16 -> f64) => is_inf x, and NaN: every wider float type holds x as it is. (PyTorch's exports look for
/// overflows so, in every layer of T5.)
template <typename Op> struct TestOfWidened : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    auto cast = op.getInput().template getDefiningOp<CastOp>();
    if (!cast)
      return failure();
    auto from = dyn_cast<FloatType>(tensorType(cast.getInput()).getElementType()),
         to = dyn_cast<FloatType>(tensorType(cast.getOutput()).getElementType());
    if (!from || !to || from.getWidth() >= to.getWidth())
      return failure();
    rewriter.replaceOpWithNewOp<Op>(op, cast.getInput());
    return success();
  }
};

} // namespace

void populateLogicPatterns(RewritePatternSet &patterns) {
  patterns.add<FoldLogical<AndOp>, FoldLogical<OrOp>, FoldNot, EqualOfBool, EqualOfSame, FoldSelect,
               CastToBool, TestOfWidened<IsInfOp>, TestOfWidened<IsNanOp>>(patterns.getContext());
}

} // namespace smelt::passes
