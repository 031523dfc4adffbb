#include "passes/attention_scores.h"

#include "passes/attention_bias.h"
#include "passes/constants.h"
#include "passes/raise.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace smelt::passes {

namespace {

/// Ops on a chain, at most.
constexpr int kMaxDepth = 12;

Type elementType(Value value) { return tensorType(value).getElementType(); }

bool isNarrow(Value value) { return elementType(value).getIntOrFloatBitWidth() < 32; }

/// select(is_nan(p), 0, p)
bool isNanGuard(SelectOp op, Value probabilities) {
  auto test = op.getCondition().getDefiningOp<IsNanOp>();
  return test && test.getInput() == probabilities && op.getRhs() == probabilities &&
         isSplat(op.getLhs(), 0);
}

/// The only reader of `value` but for the test of a NaN guard, or null; `found` says what reads it.
Operation *onlyReader(Value value, std::string &found) {
  llvm::SetVector<Operation *> readers;
  for (Operation *user : value.getUsers())
    if (!isa<IsNanOp>(user) || !user->hasOneUse())
      readers.insert(user);
  bool isOne = readers.size() == 1;
  found = isOne ? readers.front()->getName().getStringRef().str() + " reads it"
                : std::to_string(readers.size()) + " ops read it";
  return isOne ? readers.front() : nullptr;
}

} // namespace

std::optional<Scores> ScoreMatcher::match(Value value, int depth) {
  Operation *op = value.getDefiningOp();
  if (!op || depth > kMaxDepth)
    return std::nullopt;
  if (auto product = dyn_cast<MatmulOp>(op)) {
    Scores scores;
    scores.product = product;
    return scores;
  }
  if (isFloatCast(op))
    return matchCast(op, depth);
  if (std::optional<Scaled> scaled = matchScaled(value))
    return matchFactor(scaled->value, scaled->factor, depth);
  if (isa<TanhOp>(op))
    return matchTanh(op, depth);
  if (isa<AddOp, SubOp>(op))
    return matchSum(op, depth);
  if (auto select = dyn_cast<SelectOp>(op))
    return matchSelect(select, depth);
  return std::nullopt;
}

std::optional<Scores> ScoreMatcher::matchCast(Operation *op, int depth) {
  std::optional<Scores> scores = match(op->getOperand(0), depth + 1);
  if (scores && isNarrow(op->getResult(0)))
    scores->narrowed = true;
  return scores;
}

std::optional<Scores> ScoreMatcher::matchFactor(Value value, double factor, int depth) {
  std::optional<Scores> scores = match(value, depth + 1);
  if (!scores)
    return std::nullopt;
  if (scores->capIsOpen && !scores->bias) {
    // c * tanh(scale * s): the cap is c, and c * scale stands before it.
    scores->softcap = factor;
    scores->scale *= factor;
    scores->capIsOpen = false;
    return scores->softcap > 0 ? scores : std::nullopt;
  }
  if (scores->softcap > 0)
    return std::nullopt;
  scores->scale *= factor;
  scores->bias = scaleBias(builder, location, scores->bias, factor);
  return scores;
}

std::optional<Scores> ScoreMatcher::matchTanh(Operation *op, int depth) {
  std::optional<Scores> scores = match(op->getOperand(0), depth + 1);
  if (!scores || scores->bias || scores->capIsOpen || scores->softcap > 0)
    return std::nullopt;
  scores->capIsOpen = true;
  return scores;
}

std::optional<Scores> ScoreMatcher::matchSum(Operation *op, int depth) {
  bool minus = isa<SubOp>(op);
  for (unsigned side : {0u, 1u}) {
    Value score = op->getOperand(side), term = op->getOperand(1 - side);
    if ((minus && side == 1) || score.getType() != op->getResult(0).getType())
      continue;
    std::optional<Scores> scores = match(score, depth + 1);
    if (!scores || scores->capIsOpen)
      continue;
    scores->bias = addBias(builder, location, scores->bias, term, minus);
    return scores;
  }
  return std::nullopt;
}

std::optional<Scores> ScoreMatcher::matchSelect(SelectOp op, int depth) {
  for (bool fillWhenTrue : {false, true}) {
    Value score = fillWhenTrue ? op.getRhs() : op.getLhs(),
          fill = fillWhenTrue ? op.getLhs() : op.getRhs();
    std::optional<double> value = splatFloat(fill);
    if (!value || score.getType() != op.getOutput().getType())
      continue;
    if (*value > kLargestMaskFill) {
      reachableFill = value;
      continue;
    }
    std::optional<Scores> scores = match(score, depth + 1);
    if (!scores || scores->capIsOpen)
      return std::nullopt;
    scores->bias = maskBias(builder, location, scores->bias, op.getCondition(), *value,
                            fillWhenTrue, elementType(score));
    return scores;
  }
  return std::nullopt;
}

std::optional<Probabilities> matchProbabilities(SoftmaxOp softmax, std::string &found) {
  Probabilities result;
  Value value = softmax.getOutput();
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    Operation *reader = onlyReader(value, found);
    if (auto product = dyn_cast_or_null<MatmulOp>(reader)) {
      result.weighted = product;
      bool readsOnce = product.getLhs() == value && product.getRhs() != value;
      return readsOnce ? std::optional(result) : std::nullopt;
    }
    if (auto select = dyn_cast_or_null<SelectOp>(reader); select && isNanGuard(select, value))
      result.zeroMaskedRows = true;
    else if (isFloatCast(reader))
      result.narrowed |= isNarrow(reader->getResult(0));
    else
      return std::nullopt;
    value = reader->getResult(0);
  }
  return std::nullopt;
}

} // namespace smelt::passes
