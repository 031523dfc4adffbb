#include "passes/raise/raise.h"

#include "passes/constants.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace smelt::passes {

namespace {

/// Erases `value`'s op and what only it used.
void eraseUnused(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !isOpTriviallyDead(op))
    return;
  SmallVector<Value> operands(op->getOperands());
  op->erase();
  for (Value operand : operands)
    eraseUnused(operand);
}

} // namespace

bool Raiser::replace(Value original, Value raised, ArrayRef<Value> leaves, double tolerance,
                     StringRef fusion, const Twine &message) {
  Location location = raised.getLoc();
  RaiseCheck check = checker.check(original, raised, leaves, tolerance);
  if (check.agrees) {
    original.replaceAllUsesWith(raised);
    if (!message.isTriviallyEmpty())
      remarks.taken(location, fusion, message);
    return true;
  }
  std::string found =
      !check.problem.empty()
          ? check.problem
          : llvm::formatv("relative error {0:e2}, at most {1:e2} allowed", check.error, tolerance)
                .str();
  remarks.refused(original.getLoc(), fusion, "agrees with the ops it replaces", found);
  eraseUnused(raised);
  return false;
}

Location fusedLocation(ArrayRef<Value> roots, ArrayRef<Value> leaves) {
  llvm::SetVector<Location> locations;
  llvm::DenseSet<Value> seen(leaves.begin(), leaves.end());
  SmallVector<Value> stack(roots);
  while (!stack.empty()) {
    Value value = stack.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(value).second)
      continue;
    if (!op->hasTrait<OpTrait::ConstantLike>())
      locations.insert(op->getLoc());
    llvm::append_range(stack, op->getOperands());
  }
  return FusedLoc::get(roots.front().getContext(), locations.getArrayRef());
}

Value throughFloatCast(Value value) {
  auto cast = value.getDefiningOp<CastOp>();
  // What is stored in 8 bits or fewer is quantised, on purpose.
  auto isFloatType = [](Type type) {
    return isa<FloatType>(type) && type.getIntOrFloatBitWidth() >= 16;
  };
  bool isFloat = cast && isFloatType(tensorType(cast.getInput()).getElementType()) &&
                 isFloatType(tensorType(cast.getOutput()).getElementType());
  return isFloat ? cast.getInput() : value;
}

bool isFloatCast(Operation *op) {
  return isa_and_nonnull<CastOp>(op) && throughFloatCast(op->getResult(0)) == op->getOperand(0);
}

Value castTo(OpBuilder &builder, Location location, Value value, Type type) {
  return tensorType(value).getElementType() == type
             ? value
             : CastOp::create(builder, location, value, type).getOutput();
}

std::optional<Scaled> matchScaled(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto negative = dyn_cast_or_null<NegOp>(op))
    return Scaled{negative.getInput(), -1};
  if (!isa_and_nonnull<MulOp, DivOp>(op))
    return std::nullopt;
  std::optional<double> constant = splatFloat(op->getOperand(1));
  if (!constant || op->getOperand(0).getType() != value.getType() ||
      (isa<DivOp>(op) && *constant == 0))
    return std::nullopt;
  return Scaled{op->getOperand(0), isa<DivOp>(op) ? 1 / *constant : *constant};
}

} // namespace smelt::passes
