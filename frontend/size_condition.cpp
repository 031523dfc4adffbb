#include "frontend/size_condition.h"

#include "ir/dim_values.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace smelt::frontend {

namespace {

SizeRelation equal(Dim left, Dim right) { return {left, right, true, ""}; }
SizeRelation atMost(Dim left, Dim right) { return {left, right, false, ""}; }

std::optional<Dim> onlySize(Value value) {
  std::optional<SmallVector<Dim>> known = knownDims(value);
  return known && known->size() == 1 ? std::optional(known->front()) : std::nullopt;
}

/// What `make` says of the two sizes that the op compares.
template <typename Make>
std::optional<SizeCondition> compareSizes(Operation *op, const Make &make) {
  std::optional<Dim> left = onlySize(op->getOperand(0)), right = onlySize(op->getOperand(1));
  return left && right ? std::optional(make(*left, *right)) : std::nullopt;
}

std::optional<SizeCondition> negate(std::optional<SizeCondition> condition) {
  if (condition)
    std::swap(condition->whenTrue, condition->whenFalse);
  return condition;
}

/// A size as a truth value: whether it is not 0.
std::optional<SizeCondition> isNotZero(CastOp op) {
  std::optional<Dim> size = onlySize(op.getInput());
  bool isSize = size && size->isKnownNonNegative();
  if (!isSize)
    return std::nullopt;
  MLIRContext *context = op.getContext();
  return SizeCondition{atMost(Dim::constant(context, 1), *size),
                       equal(*size, Dim::constant(context, 0))};
}

bool holdsForSmallSizes(const SizeRelation &relation) {
  auto one = [](StringRef) { return std::optional<int64_t>(1); };
  auto left = relation.left.evaluate(one), right = relation.right.evaluate(one);
  return left && right && (relation.isEquality ? *left == *right : *left <= *right);
}

} // namespace

bool SizeCondition::likely() const {
  return whenTrue && (!whenFalse || holdsForSmallSizes(*whenTrue));
}

std::optional<SizeCondition> sizeCondition(Value condition) {
  Operation *op = condition.getDefiningOp();
  if (!op || onlySize(condition))
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, std::optional<SizeCondition>>(op)
      .Case<ReshapeOp>([](ReshapeOp reshape) { return sizeCondition(reshape.getInput()); })
      .Case<NotOp>([](NotOp negation) { return negate(sizeCondition(negation->getOperand(0))); })
      .Case<CastOp>([](CastOp cast) {
        bool isTruth = tensorType(cast.getInput()).getElementType().isInteger(1);
        return isTruth ? sizeCondition(cast.getInput()) : isNotZero(cast);
      })
      .Case<EqualOp>([](EqualOp op) {
        return compareSizes(op,
                            [](Dim a, Dim b) { return SizeCondition{equal(a, b), std::nullopt}; });
      })
      .Case<LessOp>([](LessOp op) {
        return compareSizes(
            op, [](Dim a, Dim b) { return SizeCondition{atMost(a + 1, b), atMost(b, a)}; });
      })
      .Case<LessEqualOp>([](LessEqualOp op) {
        return compareSizes(
            op, [](Dim a, Dim b) { return SizeCondition{atMost(a, b), atMost(b + 1, a)}; });
      })
      .Default(std::nullopt);
}

} // namespace smelt::frontend
