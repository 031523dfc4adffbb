#include "passes/fuse/dequantization.h"

using namespace mlir;

namespace smelt::passes {

namespace {

/// cast, zero point, scale, cast to 16 bits.
constexpr int kMostOps = 4;

bool isWideningOfBytes(Operation *op) {
  auto cast = dyn_cast_or_null<CastOp>(op);
  return cast && elementType(cast.getInput()).isInteger(8) &&
         isa<FloatType>(elementType(cast.getOutput()));
}

/// The operand on the way to the bytes; null where `op` computes with others that are no factors.
OpOperand *wayToBytes(Operation *op) {
  if (!isa<CastOp, AddOp, SubOp, MulOp>(op))
    return nullptr;
  TensorType type = tensorType(op->getResult(0));
  OpOperand *way = nullptr;
  for (OpOperand &operand : op->getOpOperands()) {
    if (isLiteral(operand.get()) ||
        (isWeightExpression(operand.get()) && isRowOrColumn(operand.get())))
      continue;
    if (way || shapeOf(operand.get()) != type.getShape())
      return nullptr;
    way = &operand;
  }
  return way;
}

/// Makes bytes of numbers.
bool isRounding(Operation *op) {
  auto cast = dyn_cast<CastOp>(op);
  return cast && elementType(cast.getOutput()).isInteger(8) &&
         isa<FloatType>(elementType(cast.getInput()));
}

/// Computes on what it reads element by element, or reduces it: a kernel of it can widen bytes.
bool canWiden(Operation *op) { return isPointwise(op) || isa<RowReduction, ReduceOp>(op); }

} // namespace

bool isRowOrColumn(Value value) {
  SmallVector<Dim> shape = shapeOf(value);
  return shape.size() < 2 || shape.back().isConstant(1) || shape[shape.size() - 2].isConstant(1);
}

bool isDequantization(Operation *op) {
  for (int count = 0; op && count < kMostOps; ++count) {
    if (isWideningOfBytes(op))
      return true;
    OpOperand *way = wayToBytes(op);
    op = way ? way->get().getDefiningOp() : nullptr;
  }
  return false;
}

void dropDequantization(FusionGroup &group, size_t kept) {
  SmallVector<Value> ends = group.liveOuts();
  if (ends.size() != 1 || elementType(ends.front()).isInteger(8) ||
      !llvm::all_of(ends.front().getUsers(), canWiden))
    return;
  bool isReduced = llvm::any_of(ends.front().getUsers(),
                                [](Operation *user) { return isa<RowReduction>(user); });
  size_t count = group.ops().size();
  while (count > kept && !isRounding(group.ops()[count - 1]) &&
         (isReduced || isDequantization(group.ops()[count - 1])))
    --count;
  if (count == kept || !isRounding(group.ops()[count - 1]))
    return;
  SmallVector<Operation *> dropped(group.ops().drop_front(count));
  while (group.ops().size() > count)
    group.removeLast();
  if (group.liveOuts().size() != 1) // others read what was computed on the way
    llvm::for_each(dropped, [&](Operation *op) { group.add(op); });
}

void absorbDequantization(FusionGroup &group, OpOperand &first,
                          llvm::function_ref<bool(Operation *)> accept) {
  for (OpOperand *operand = &first; operand;) {
    Operation *op = operand->get().getDefiningOp();
    if (!op || group.contains(op) || !isFree(op) || !accept(op) || !op->hasOneUse() ||
        !isDequantization(op) || !group.fits(op))
      return;
    group.add(op);
    operand = wayToBytes(op);
  }
}

} // namespace smelt::passes
