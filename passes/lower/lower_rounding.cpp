// lower-rounding: what a kernel rounds to bytes and widens again stays a float.
//
//   cast (cast %x : f32 -> i8) : i8 -> f32   =>   %x     where %x is a whole number that i8 holds
//   (%x + zero point) - zero point           =>   %x     where %x is small and whole
//   round (clip (%x / c, low, high))         =>   round (clip (%x, low c, high c) / c)   of whole bounds
//
// A QuantizeLinear behind a product and the DequantizeLinear of whoever reads it often become one
// kernel: of both only clipping and rounding is left. Conversions take eight times as long as additions,
// and a product's epilogue consists of little else. Only within kernels: between them bytes are stored.
// A division of what is known to be finite is shorter than one of anything.
#include "ir/number_range.h"
#include "passes/constants.h"
#include "passes/dead_ops.h"
#include "passes/passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_LOWERROUNDING
#include "passes/passes.h.inc"

namespace {

/// f32 adds whole numbers of this size exactly.
constexpr double kExact = 1 << 22;

/// The whole number that `op` makes a byte of and back; null for others.
Value roundedBefore(CastOp op) {
  auto narrowed = op.getInput().getDefiningOp<CastOp>();
  if (!narrowed || narrowed.getInput().getType() != op.getOutput().getType() ||
      !elementType(op.getOutput()).isF32() ||
      !isByte(rangeOf(narrowed.getInput()), elementType(op.getInput())))
    return {};
  return narrowed.getInput();
}

/// What `op` moves back to where it was; null for others.
Value movedBefore(AddOp op) {
  auto inner = op.getLhs().getDefiningOp<AddOp>();
  std::optional<double> back = splatFloat(op.getRhs()),
                        moved = inner ? splatFloat(inner.getRhs()) : std::nullopt;
  if (!back || !moved || *back != -*moved || *moved != std::floor(*moved) ||
      std::abs(*moved) > kExact || inner.getLhs().getType() != op.getOutput().getType())
    return {};
  NumberRange range = rangeOf(inner.getLhs());
  return range.isWhole && range.isWithin(-kExact, kExact) ? inner.getLhs() : Value();
}

/// The bound of a clip before a division by `divisor`.
Value scaledBound(OpBuilder &builder, Value bound, double divisor) {
  return makeScalar(builder, bound.getLoc(), *literalNumber(bound) * divisor, builder.getF32Type());
}

/// A clip by 0 or by a small whole number: multiplied and divided, others may be rounded to another one.
bool isWholeClip(Operation *op) {
  std::optional<double> bound =
      isa<ReluOp>(op) ? std::optional(0.0) : literalNumber(op->getOperand(1));
  return bound && *bound == std::floor(*bound) && std::abs(*bound) <= kExact;
}

/// Divides what is rounded behind the clip. Whole bounds that a division by c makes whole again stay where
/// they are as they are rounded.
void clipBeforeDivision(RoundOp round) {
  SmallVector<Operation *> clips; // from the last
  Operation *op = round.getInput().getDefiningOp();
  for (; op && op->hasOneUse() && isa<MinOp, MaxOp, ReluOp>(op);
       op = op->getOperand(0).getDefiningOp()) {
    if (!isWholeClip(op))
      return;
    clips.push_back(op);
  }
  auto division = dyn_cast_or_null<DivOp>(op);
  std::optional<double> divisor = division ? literalNumber(division.getRhs()) : std::nullopt;
  constexpr double kMostDivisor = std::numeric_limits<float>::max() / kExact; // bounds stay finite
  if (clips.empty() || !division || !division->hasOneUse() || !divisor || !(*divisor > 0) ||
      *divisor > kMostDivisor || division.getLhs().getType() != round.getInput().getType())
    return;
  OpBuilder builder(round);
  Value value = division.getLhs();
  for (Operation *clip : llvm::reverse(clips)) {
    SmallVector<Value> operands{value};
    if (!isa<ReluOp>(clip))
      operands.push_back(scaledBound(builder, clip->getOperand(1), *divisor));
    Operation *clone = builder.clone(*clip);
    clone->setOperands(operands);
    value = clone->getResult(0);
  }
  value = DivOp::create(builder, division.getLoc(), value, division.getRhs());
  round.getInputMutable().assign(value);
}

struct LowerRounding : impl::LowerRoundingBase<LowerRounding> {
  void runOnOperation() override {
    getOperation().walk([](FusionOp fusion) {
      for (Operation &op : fusion.getBlock().without_terminator()) {
        Value replacement;
        if (auto cast = dyn_cast<CastOp>(op))
          replacement = roundedBefore(cast);
        else if (auto add = dyn_cast<AddOp>(op))
          replacement = movedBefore(add);
        if (replacement)
          op.getResult(0).replaceAllUsesWith(replacement);
      }
      SmallVector<RoundOp> rounds(fusion.getBlock().getOps<RoundOp>());
      llvm::for_each(rounds, clipBeforeDivision);
      eraseDeadOps(fusion);
    });
  }
};

} // namespace

} // namespace smelt::passes
