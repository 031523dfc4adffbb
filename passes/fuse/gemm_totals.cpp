#include "passes/fuse/gemm_totals.h"

using namespace mlir;

namespace smelt::passes {

namespace {

/// The ops from `reader` on that lead to a total and nowhere else, each from the one before it alone; none where they lead
/// elsewhere.
SmallVector<Operation *> opsToTotal(Operation *reader) {
  SmallVector<Operation *> ops;
  for (Operation *op = reader; isFree(op); op = *op->user_begin()) {
    ops.push_back(op);
    if (auto total = dyn_cast<ReduceOp>(op))
      return countedTest(total) ? ops : SmallVector<Operation *>();
    bool readsOne =
        llvm::count_if(op->getOperands(), [](Value operand) { return !isLiteral(operand); }) == 1;
    if (!(op->hasTrait<Elementwise>() || isa<ReshapeOp>(op)) || !readsOne || !op->hasOneUse())
      break;
  }
  return {};
}

/// They test for infinities or NaNs, and nothing comes of it but the count.
bool countRareElements(ArrayRef<Operation *> ops) {
  return llvm::count_if(ops, llvm::IsaPred<IsInfOp, IsNanOp>) == 1 &&
         llvm::all_of(ops, llvm::IsaPred<IsInfOp, IsNanOp, CastOp, ReshapeOp, ReduceOp>);
}

/// Adds all of `ops` where the kernel stays short; what they read, `result`, must be stored anyway.
bool addAll(FusionGroup &group, ArrayRef<Operation *> ops, Value result) {
  size_t added = 0;
  for (; added < ops.size() && group.fits(ops[added]); ++added)
    group.add(ops[added]);
  bool isTaken = added == ops.size() && llvm::any_of(result.getUsers(), [&](Operation *user) {
                   return !group.contains(user);
                 });
  for (; !isTaken && added > 0; --added)
    group.removeLast();
  return isTaken;
}

} // namespace

SmallVector<Total> absorbTotals(FusionGroup &group) {
  SmallVector<Total> totals;
  for (Value result : group.liveOuts())
    for (Operation *reader : result.getUsers()) {
      SmallVector<Operation *> ops = opsToTotal(reader);
      if (ops.size() < 2) // of a sum of the result itself, nothing else is stored
        continue;
      StringRef obstacle;
      if (!countRareElements(ops))
        obstacle = "what it counts is hardly ever true: threads would queue up";
      else if (!addAll(group, ops, result))
        obstacle = "others read what it counts, and the kernel stays short enough for its compiler";
      totals.push_back({cast<ReduceOp>(ops.back()), obstacle});
    }
  return totals;
}

} // namespace smelt::passes
