#include "passes/raise/attention_scores.h"

#include "passes/constants.h"
#include "passes/raise/attention_bias.h"
#include "passes/raise/raise.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace smelt::passes {

namespace {

/// Ops on a chain, at most.
constexpr int kMaxDepth = 12;

bool isNarrow(Value value) { return elementType(value).getIntOrFloatBitWidth() < 32; }

/// Far below every score, and finite in fp32.
bool isPlaceable(double fill) {
  return fill <= kMaskedScore / 1024 && fill >= std::numeric_limits<float>::lowest();
}

/// `bias` may hold a mask: something as large as a fill goes into it, or an input of the model.
bool mayMask(Value bias) {
  SmallVector<Value> stack{bias};
  while (!stack.empty()) {
    Value value = stack.pop_back_val();
    Operation *op = value.getDefiningOp();
    std::optional<double> number = splatFloat(value);
    if (number ? std::abs(*number) >= -kLargestMaskFill : !op && isa<FloatType>(elementType(value)))
      return true;
    if (op && (op->hasTrait<Elementwise>() || op->hasTrait<View>()))
      llvm::append_range(stack, op->getOperands());
  }
  return false;
}

/// select(is_nan(p), 0, p)
bool isNanGuard(SelectOp op, Value probabilities) {
  auto test = op.getCondition().getDefiningOp<IsNanOp>();
  return test && test.getInput() == probabilities && op.getRhs() == probabilities &&
         isSplat(op.getLhs(), 0);
}

/// A product of matrices, scaled and capped, to which nothing is added.
bool isUnmasked(Value scores) {
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    scores = throughFloatCast(scores);
    if (std::optional<Scaled> scaled = matchScaled(scores))
      scores = scaled->value;
    else if (auto tanh = scores.getDefiningOp<TanhOp>())
      scores = tanh.getInput();
    else
      return scores.getDefiningOp<MatmulOp>() != nullptr;
  }
  return false;
}

/// What a guard finds in select(max(bias) == -inf, 0, p): the rows it zeroes.
enum class HiddenRows { unknown, none, thoseOfBias };

/// The maximum is over the keys, and the bias is all that is added to the scores, or finite everywhere.
HiddenRows matchHiddenGuard(SelectOp op, Value probabilities, SoftmaxOp softmax) {
  auto test = op.getCondition().getDefiningOp<EqualOp>();
  if (!test || op.getRhs() != probabilities || !isSplat(op.getLhs(), 0) ||
      !isSplat(test.getRhs(), -std::numeric_limits<double>::infinity()))
    return HiddenRows::unknown;
  auto most = throughFloatCast(test.getLhs()).getDefiningOp<ReduceOp>();
  if (!most || most.getKind() != ReductionKind::max || most.getAxes().size() != 1 ||
      most.getAxes()[0] + 1 != static_cast<int64_t>(shapeOf(most.getInput()).size()))
    return HiddenRows::unknown;
  Value bias = throughFloatCast(most.getInput());
  std::optional<double> all = splatFloat(bias);
  std::optional<int64_t> keys = shapeOf(bias).back().asConstant();
  if (all && std::isfinite(*all) && keys && *keys > 0)
    return HiddenRows::none;
  auto sum = throughFloatCast(softmax.getInput()).getDefiningOp<AddOp>();
  bool isAdded = sum && ((isUnmasked(sum.getLhs()) && throughFloatCast(sum.getRhs()) == bias) ||
                         (isUnmasked(sum.getRhs()) && throughFloatCast(sum.getLhs()) == bias));
  return isAdded ? HiddenRows::thoseOfBias : HiddenRows::unknown;
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
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return matchSplit(reshape, depth);
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
  if (scores->fill) {
    scores->fill->own *= factor;
    scores->fill->placed *= factor;
    if (!isPlaceable(scores->fill->placed))
      return refuse("a scaled mask still masks",
                    llvm::formatv("a factor of {0:F} after masks of {1:E2}", factor,
                                  scores->fill->own / factor));
  }
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

/// Scores of windows, split by image: what was added to them before is split, too.
std::optional<Scores> ScoreMatcher::matchSplit(ReshapeOp op, int depth) {
  std::optional<Windows> windows = matchWindows(shapeOf(op.getInput()), shapeOf(op.getOutput()));
  std::optional<Scores> scores = windows ? match(op.getInput(), depth + 1) : std::nullopt;
  if (!scores || scores->windows)
    return std::nullopt;
  if (scores->bias)
    scores->bias = splitWindows(builder, location, scores->bias, *windows);
  scores->windows = windows;
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
    if (scores->fill && !scores->fill->absorbs())
      return refuse("nothing is added to masked scores",
                    llvm::formatv("a sum after masks of {0:E2}", scores->fill->own));
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
    std::optional<Scores> scores = match(score, depth + 1);
    if (scores && !scores->capIsOpen)
      return masked(std::move(*scores), op, *value, fillWhenTrue);
  }
  return std::nullopt;
}

/// A finite fill becomes kMaskedScore or less, which scores and other biases are lost in. That is
/// exact where rows that see no key still tie the same keys: hence the refusals.
std::optional<Scores> ScoreMatcher::masked(Scores scores, SelectOp op, double fill,
                                           bool fillWhenTrue) {
  if (!(fill <= kLargestMaskFill))
    return refuse("a mask's fill lies below every score",
                  llvm::formatv("{0:F0} in place of scores, where at most {1:F0} is sure", fill,
                                kLargestMaskFill));
  double placed = std::isinf(fill) ? fill : std::min(fill, kMaskedScore);
  if (std::isfinite(fill)) {
    if (scores.fill && scores.fill->own != fill)
      return refuse("masks of one attention have one fill",
                    llvm::formatv("{0:E2} and {1:E2}", scores.fill->own, fill));
    if (!scores.fill && scores.bias && fill != placed && mayMask(scores.bias))
      return refuse("scores are masked once", "a sum that masks, then a select");
    placed = scores.fill ? scores.fill->placed : placed;
    scores.fill = MaskFill{fill, placed};
  }
  scores.bias = maskBias(builder, location, scores.bias, op.getCondition(), placed, fillWhenTrue,
                         elementType(op.getOutput()));
  return scores;
}

std::nullopt_t ScoreMatcher::refuse(StringRef predicate, std::string found) {
  refusal = {predicate, std::move(found)};
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
    auto select = dyn_cast_or_null<SelectOp>(reader);
    HiddenRows hidden = select ? matchHiddenGuard(select, value, softmax) : HiddenRows::unknown;
    if (select && (isNanGuard(select, value) || hidden == HiddenRows::thoseOfBias))
      result.zeroMaskedRows = true;
    else if (auto merge = dyn_cast_or_null<ReshapeOp>(reader); merge && !result.windows) {
      result.windows = matchWindows(shapeOf(merge.getOutput()), shapeOf(value));
      if (!result.windows)
        return std::nullopt;
    } else if (isFloatCast(reader))
      result.narrowed |= isNarrow(reader->getResult(0));
    else if (hidden != HiddenRows::none)
      return std::nullopt;
    value = reader->getResult(0);
  }
  return std::nullopt;
}

} // namespace smelt::passes
