// Arithmetic to one spelling: neutral elements, division and subtraction by constants, powers,
// roots, casts.
//
// Factors combine only where their product is exact in their type: x * 0.3535 * 0.3535 in fp16
// keeps its two factors here, and raise_attention multiplies them in double precision where it
// forms the attention's scale.
#include "passes/constants.h"
#include "passes/simplify/canonical.h"

#include <cmath>

using namespace mlir;

namespace smelt::passes {

namespace {

bool isFloat(Value value) { return isa<FloatType>(elementType(value)); }

/// Commutative ops carry their constant on the right, or a weight where neither side is constant.
struct ConstantRight : RewritePattern {
  explicit ConstantRight(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!op->hasTrait<OpTrait::IsCommutative>() || op->getNumOperands() != 2 ||
        rank(op->getOperand(0)) <= rank(op->getOperand(1)))
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      Value left = op->getOperand(0);
      op->setOperand(0, op->getOperand(1));
      op->setOperand(1, left);
    });
    return success();
  }

private:
  static int rank(Value value) { return splatNumber(value) ? 2 : isWeightView(value) ? 1 : 0; }
};

/// x + 0, x - 0, x * 1, x / 1 where the constant does not widen the shape.
template <typename Op> struct DropNeutral : OpRewritePattern<Op> {
  double neutral;
  DropNeutral(MLIRContext *context, double number)
      : OpRewritePattern<Op>(context), neutral(number) {}

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!isSplat(op.getRhs(), neutral) || op.getLhs().getType() != op.getOutput().getType())
      return failure();
    rewriter.replaceOp(op, op.getLhs());
    return success();
  }
};

/// x - c => x + (-c)
struct SubtractConstant : OpRewritePattern<SubOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SubOp op, PatternRewriter &rewriter) const override {
    std::optional<double> number = splatNumber(op.getRhs());
    Type type = elementType(op.getLhs());
    if (!number || type.isUnsignedInteger() || tensorType(op.getRhs()).getRank() != 0)
      return failure();
    // Integers wrap: the smallest is its own negative.
    auto wrapped = [&] {
      return static_cast<int64_t>(-static_cast<uint64_t>(*splatInteger(op.getRhs())));
    };
    Value negative = isFloat(op.getRhs())
                         ? makeScalar(rewriter, op.getLoc(), -*number, type)
                         : makeScalarInteger(rewriter, op.getLoc(), wrapped(), type);
    rewriter.replaceOpWithNewOp<AddOp>(op, op.getLhs(), negative);
    return success();
  }
};

/// x - (-y) => x + y and x + (-y) => x - y
struct AddNegative : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AddOp op, PatternRewriter &rewriter) const override {
    Value left = op.getLhs(), right = op.getRhs();
    if (left.getDefiningOp<NegOp>())
      std::swap(left, right);
    auto negative = right.getDefiningOp<NegOp>();
    if (!negative)
      return failure();
    rewriter.replaceOpWithNewOp<SubOp>(op, left, negative.getInput());
    return success();
  }
};

/// x / c => x * (1/c) where 1/c is exact in the type.
struct DivideByConstant : OpRewritePattern<DivOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(DivOp op, PatternRewriter &rewriter) const override {
    std::optional<double> divisor = splatFloat(op.getRhs());
    if (!divisor || *divisor == 0 || !std::isfinite(*divisor) ||
        tensorType(op.getRhs()).getRank() != 0)
      return failure();
    double reciprocal = 1 / *divisor;
    if (std::fma(reciprocal, *divisor, -1.0) != 0 ||
        !isExactIn(reciprocal, elementType(op.getLhs())))
      return failure();
    Value factor = makeScalar(rewriter, op.getLoc(), reciprocal, elementType(op.getLhs()));
    rewriter.replaceOpWithNewOp<MulOp>(op, op.getLhs(), factor);
    return success();
  }
};

/// x / sqrt(y) => x * rsqrt(y); 1 / y => reciprocal(y)
struct DivideByRoot : OpRewritePattern<DivOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(DivOp op, PatternRewriter &rewriter) const override {
    if (!isFloat(op.getLhs()))
      return failure();
    if (isSplat(op.getLhs(), 1) && op.getRhs().getType() == op.getOutput().getType()) {
      rewriter.replaceOpWithNewOp<ReciprocalOp>(op, op.getRhs().getType(), op.getRhs());
      return success();
    }
    auto root = op.getRhs().getDefiningOp<SqrtOp>();
    if (!root)
      return failure();
    Value inverse = RsqrtOp::create(rewriter, root.getLoc(), root.getType(), root.getInput());
    rewriter.replaceOpWithNewOp<MulOp>(op, op.getLhs(), inverse);
    return success();
  }
};

/// 1 / sqrt(y) => rsqrt(y)
struct ReciprocalOfRoot : OpRewritePattern<ReciprocalOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReciprocalOp op, PatternRewriter &rewriter) const override {
    auto root = op.getInput().getDefiningOp<SqrtOp>();
    if (!root)
      return failure();
    rewriter.replaceOpWithNewOp<RsqrtOp>(op, op.getType(), root.getInput());
    return success();
  }
};

/// x * (1 / y) => x / y, so that raise matches one quotient.
struct MultiplyByReciprocal : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MulOp op, PatternRewriter &rewriter) const override {
    Value left = op.getLhs(), right = op.getRhs();
    if (left.getDefiningOp<ReciprocalOp>())
      std::swap(left, right);
    auto inverse = right.getDefiningOp<ReciprocalOp>();
    if (!inverse || !inverse->hasOneUse())
      return failure();
    rewriter.replaceOpWithNewOp<DivOp>(op, left, inverse.getInput());
    return success();
  }
};

/// x^2 => x * x, x^3 => x * x * x, x^0.5 => sqrt, x^-0.5 => rsqrt, x^-1 => reciprocal, x^1 => x
struct ConstantPower : OpRewritePattern<PowOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(PowOp op, PatternRewriter &rewriter) const override {
    std::optional<double> exponent = splatNumber(op.getRhs());
    Value base = op.getLhs();
    if (!exponent || base.getType() != op.getOutput().getType())
      return failure();
    if (*exponent == 1) {
      rewriter.replaceOp(op, base);
    } else if (*exponent == 2) {
      rewriter.replaceOpWithNewOp<MulOp>(op, base, base);
    } else if (*exponent == 3) {
      Value square = MulOp::create(rewriter, op.getLoc(), base, base);
      rewriter.replaceOpWithNewOp<MulOp>(op, square, base);
    } else if (*exponent == 0.5 && isFloat(base)) {
      rewriter.replaceOpWithNewOp<SqrtOp>(op, base.getType(), base);
    } else if (*exponent == -0.5 && isFloat(base)) {
      rewriter.replaceOpWithNewOp<RsqrtOp>(op, base.getType(), base);
    } else if (*exponent == -1 && isFloat(base)) {
      rewriter.replaceOpWithNewOp<ReciprocalOp>(op, base.getType(), base);
    } else {
      return failure();
    }
    return success();
  }
};

/// x * c1 * c2 => x * (c1 * c2) where the product of the constants is exact in the type and both
/// shrink, or both grow: then the first product overflows or vanishes only where the second does.
/// Sums are left alone: (x + c) - c rounds x.
struct CombineFactors : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MulOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getLhs().getDefiningOp<MulOp>();
    if (!inner || tensorType(op.getRhs()).getRank() != 0 ||
        tensorType(inner.getRhs()).getRank() != 0)
      return failure();
    std::optional<double> second = splatFloat(op.getRhs()), first = splatFloat(inner.getRhs());
    if (!second || !first || (std::abs(*first) < 1) != (std::abs(*second) < 1))
      return failure();
    double combined = *second * *first;
    Type type = elementType(op.getLhs());
    // The product in double must itself be exact before the type's precision is asked.
    if (std::fma(*second, *first, -combined) != 0 || !std::isfinite(combined) ||
        !isExactIn(combined, type))
      return failure();
    Value constant = makeScalar(rewriter, op.getLoc(), combined, type);
    rewriter.replaceOpWithNewOp<MulOp>(op, inner.getLhs(), constant);
    return success();
  }
};

/// -(-x) => x
struct DoubleNegative : OpRewritePattern<NegOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(NegOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<NegOp>();
    if (!inner)
      return failure();
    rewriter.replaceOp(op, inner.getInput());
    return success();
  }
};

/// Every value of `from` is a value of `to`.
bool holdsAll(Type to, Type from) {
  if (to == from || (from.isInteger(1) && !isa<Float8E8M0FNUType>(to)))
    return true;
  if (auto floatFrom = dyn_cast<FloatType>(from)) {
    auto floatTo = dyn_cast<FloatType>(to);
    return floatTo && (floatTo.isF64() || (floatTo.isF32() && !floatFrom.isF64()));
  }
  unsigned magnitude = from.getIntOrFloatBitWidth() - (from.isUnsignedInteger() ? 0 : 1);
  if (auto floatTo = dyn_cast<FloatType>(to))
    return magnitude < floatTo.getFPMantissaWidth();
  if (to.isUnsignedInteger())
    return from.isUnsignedInteger() && to.getIntOrFloatBitWidth() >= from.getIntOrFloatBitWidth();
  return magnitude <= to.getIntOrFloatBitWidth() - 1;
}

/// cast(cast(x : A) : B) : C => cast(x : A) : C where B holds every value of A.
struct CastOfCast : OpRewritePattern<CastOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(CastOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<CastOp>();
    if (!inner)
      return failure();
    Type from = elementType(inner.getInput()), through = elementType(inner.getOutput()),
         to = elementType(op.getOutput());
    // An integer that is too large wraps, a float that is too large for an integer does not.
    bool sameOverflow = !isa<FloatType>(through) || isa<FloatType>(to) || isa<FloatType>(from) ||
                        to.isInteger(1) || holdsAll(to, from);
    if (!holdsAll(through, from) || !sameOverflow)
      return failure();
    rewriter.replaceOpWithNewOp<CastOp>(op, inner.getInput(), to);
    return success();
  }
};

} // namespace

void populateArithmeticPatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<DropNeutral<AddOp>, DropNeutral<SubOp>>(context, 0.0);
  patterns.add<DropNeutral<MulOp>, DropNeutral<DivOp>>(context, 1.0);
  patterns.add<ConstantRight, SubtractConstant, AddNegative, DivideByConstant, DivideByRoot,
               ReciprocalOfRoot, MultiplyByReciprocal, ConstantPower, CombineFactors,
               DoubleNegative, CastOfCast>(context);
}

} // namespace smelt::passes
