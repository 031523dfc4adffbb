#include "passes/raise/attention_bias.h"

#include "passes/constants.h"
#include "passes/coordinates.h"
#include "passes/raise/raise.h"
#include "passes/view_shape.h"

#include <cmath>

using namespace mlir;

namespace smelt::passes {

namespace {

/// `reshape` only adds or drops leading axes of size 1, which broadcasting does not see.
bool isLeadingOnes(ReshapeOp reshape) {
  return dropLeadingOnes(tensorType(reshape.getInput()).getShape()) ==
         dropLeadingOnes(tensorType(reshape.getOutput()).getShape());
}

/// What `value` broadcasts from: without expands and reshapes of leading ones.
Value withoutBroadcast(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    auto reshape = dyn_cast<ReshapeOp>(op);
    if (!isa<ExpandOp>(op) && !(reshape && isLeadingOnes(reshape)))
      return value;
    value = op->getOperand(0);
  }
  return value;
}

/// Where the mask of one comparison lets a key be seen: visible >= 0, over the comparison's
/// coordinates.
std::optional<Dim> visibleWhereNotNegative(Value condition, bool negated,
                                           CoordinateAnalysis &analysis) {
  Operation *op = condition.getDefiningOp();
  if (!isa_and_nonnull<LessOp, LessEqualOp>(op))
    return std::nullopt;
  TensorType type = tensorType(condition);
  SmallVector<Dim> sides;
  for (Value operand : op->getOperands()) {
    std::optional<Dim> element = analysis.element(operand);
    if (!element)
      return std::nullopt;
    unsigned rank = tensorType(operand).getRank();
    SmallVector<Dim> at;
    for (unsigned axis = 0; axis < rank; ++axis)
      at.push_back(coordinate(type.getContext(), axis + type.getRank() - rank));
    sides.push_back(atCoordinates(*element, at));
  }
  Dim difference = negated ? sides[0] - sides[1] : sides[1] - sides[0];
  // x <= y is y - x >= 0 and x < y is y - x - 1 >= 0; the negation exchanges both the sides and the
  // two cases.
  return isa<LessOp>(op) != negated ? difference - 1 : difference;
}

/// The condition is j <= i + (keys - queries), seen by a key j and a query i.
bool isCausal(Value condition, bool negated, Dim queries, Dim keys) {
  condition = withoutBroadcast(condition);
  unsigned rank = tensorType(condition).getRank();
  CoordinateAnalysis analysis;
  if (rank < 2)
    return false;
  std::optional<Dim> visible = visibleWhereNotNegative(condition, negated, analysis);
  MLIRContext *context = condition.getContext();
  return visible && *visible == coordinate(context, rank - 2) - coordinate(context, rank - 1) +
                                    (keys - queries);
}

void collectConjuncts(Value condition, SmallVector<Value> &conjuncts) {
  condition = withoutBroadcast(condition);
  if (auto both = condition.getDefiningOp<AndOp>()) {
    collectConjuncts(both.getLhs(), conjuncts);
    collectConjuncts(both.getRhs(), conjuncts);
    return;
  }
  conjuncts.push_back(condition);
}

/// select(condition, 0, fill) or select(condition, fill, 0)
struct Mask {
  SmallVector<Value> conjuncts;
  bool negated; // the only conjunct says where a key is hidden
  Value fill;
  double fillValue;
};

std::optional<Mask> matchMask(Value bias) {
  auto select = withoutBroadcast(bias).getDefiningOp<SelectOp>();
  if (!select)
    return std::nullopt;
  bool negated = isSplat(select.getRhs(), 0);
  Value zero = negated ? select.getRhs() : select.getLhs(),
        fill = negated ? select.getLhs() : select.getRhs();
  std::optional<double> fillValue = splatFloat(fill);
  if (!isSplat(zero, 0) || !fillValue || *fillValue > kLargestMaskFill)
    return std::nullopt;
  Mask mask{{}, negated, fill, *fillValue};
  collectConjuncts(select.getCondition(), mask.conjuncts);
  return negated && mask.conjuncts.size() > 1 ? std::nullopt : std::optional(mask);
}

/// The mask without its causal part, where dropping that part is exact: with -inf always, with a
/// finite fill only where nothing else decides and each query sees a key, for else a row without
/// any visible key averages over other keys.
std::optional<Value> withoutCausal(OpBuilder &builder, Location location, const Mask &mask,
                                   bool alone, Dim queries, Dim keys) {
  SmallVector<Value> rest;
  for (Value conjunct : mask.conjuncts)
    if (!isCausal(conjunct, mask.negated, queries, keys))
      rest.push_back(conjunct);
  bool exact = std::isinf(mask.fillValue) ||
               (alone && rest.empty() && (keys - queries).isKnownNonNegative());
  if (rest.size() == mask.conjuncts.size() || !exact)
    return std::nullopt;
  if (rest.empty())
    return Value();
  Value condition = rest.front();
  for (Value next : llvm::drop_begin(rest))
    condition = AndOp::create(builder, location, condition, next);
  Value zero = makeScalar(builder, location, 0, elementType(mask.fill));
  Value fill = makeScalar(builder, location, mask.fillValue, elementType(mask.fill));
  return SelectOp::create(builder, location, condition, zero, fill).getOutput();
}

} // namespace

Value addBias(OpBuilder &builder, Location location, Value bias, Value term, bool negative) {
  if (negative)
    term = NegOp::create(builder, location, term.getType(), term);
  if (!bias)
    return term;
  if (elementType(bias) != elementType(term)) {
    Type wide = builder.getF32Type();
    bias = castTo(builder, location, bias, wide);
    term = castTo(builder, location, term, wide);
  }
  return AddOp::create(builder, location, bias, term);
}

Value scaleBias(OpBuilder &builder, Location location, Value bias, double factor) {
  if (!bias)
    return bias;
  bias = castTo(builder, location, bias, builder.getF32Type());
  return MulOp::create(builder, location, bias,
                       makeScalar(builder, location, factor, builder.getF32Type()));
}

Value maskBias(OpBuilder &builder, Location location, Value bias, Value condition, double fill,
               bool fillWhenTrue, Type elementType) {
  // Only fp32 holds finite fills that adding a score to is lost in.
  Type type = std::isinf(fill) ? elementType : builder.getF32Type();
  Value masked = makeScalar(builder, location, fill, type);
  Value kept =
      bias ? castTo(builder, location, bias, type) : makeScalar(builder, location, 0, type);
  return fillWhenTrue ? SelectOp::create(builder, location, condition, masked, kept).getOutput()
                      : SelectOp::create(builder, location, condition, kept, masked).getOutput();
}

NormalBias normaliseBias(OpBuilder &builder, Location location, Value bias, Dim queries, Dim keys) {
  NormalBias result;
  SmallVector<Value> terms, kept;
  auto collect = [&](auto &&self, Value value) -> void {
    value = withoutBroadcast(value);
    if (auto add = value.getDefiningOp<AddOp>()) {
      self(self, add.getLhs());
      self(self, add.getRhs());
    } else if (!isSplat(value, 0)) {
      terms.push_back(value);
    }
  };
  if (bias)
    collect(collect, bias);
  for (Value term : terms) {
    std::optional<Mask> mask = matchMask(term);
    std::optional<Value> rest =
        mask ? withoutCausal(builder, location, *mask, terms.size() == 1, queries, keys)
             : std::nullopt;
    result.causal |= rest.has_value();
    if (!rest || *rest)
      kept.push_back(rest ? *rest : term);
  }
  for (Value term : kept)
    result.bias = addBias(builder, location, result.bias, term, false);
  return result;
}

} // namespace smelt::passes
