// Makes each matrix product one kernel, with the views before it and the elementwise ops after it.
//
//   gelu(x W + b), (x W + b) + residual, ...   =>   one GEMM whose epilogue computes on the
//   accumulators
//
// Every elementwise op drawn into the epilogue saves writing and reading the product once. Grows
// forward while the result keeps one reader (diamonds such as x * sigmoid(x) included) and its
// number of elements; reads of other tensors (bias, residual) become loads of the epilogue, through
// views where there are any.
//
// Norms between two products reach both epilogues (fuse_norm.cpp): the row moments of the value at
// which an epilogue ends are its second result, and what an epilogue computes of the moments of
// other rows (mean, root, a normalised residual) is drawn in, a copy for each reader.
#include "passes/gemm_group.h"
#include "passes/passes.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_FUSEGEMM
#include "passes/passes.h.inc"

namespace {

/// `op` computes elementwise from a statistic of rows, not through members of the group.
bool readsRowStatistic(Operation *op, const FusionGroup &group) {
  SmallVector<Operation *> pending{op};
  llvm::DenseSet<Operation *> seen;
  while (!pending.empty()) {
    Operation *next = pending.pop_back_val();
    if (isRowStatistic(next))
      return true;
    if (!isFree(next) || group.contains(next) || !next->hasTrait<Elementwise>() ||
        !seen.insert(next).second)
      continue;
    for (Value operand : next->getOperands())
      pending.push_back(operand.getDefiningOp());
  }
  return false;
}

/// Draws in what `operand` computes from row statistics, and the statistics; what others read too
/// is cloned.
void absorbNormalized(FusionGroup &group, OpOperand &operand) {
  Operation *op = operand.get().getDefiningOp();
  if (!isFree(op) || group.contains(op))
    return;
  bool isStatistic = isRowStatistic(op);
  if (!isStatistic &&
      !(isa<CastOp>(op) || (op->hasTrait<Elementwise>() && readsRowStatistic(op, group))))
    return;
  if (!llvm::hasSingleElement(op->getUses())) {
    op = OpBuilder(operand.getOwner()).clone(*op);
    operand.set(op->getResult(0));
  }
  group.add(op);
  if (!isStatistic)
    for (OpOperand &input : op->getOpOperands())
      absorbNormalized(group, input);
}

void fuse(MatmulOp matmul) {
  FusionGroup group = growGemm(matmul);
  SmallVector<Operation *> members(group.ops());
  for (Operation *op : members)
    for (OpOperand &operand : op->getOpOperands()) {
      Operation *producer = operand.get().getDefiningOp();
      if (op != matmul && producer && readsRowStatistic(producer, group))
        absorbNormalized(group, operand);
    }
  for (Value end : group.liveOuts())
    for (Operation *user : end.getUsers())
      if (isa<RowMomentsOp>(user) && isFree(user))
        group.add(user);
  members.assign(group.ops().begin(), group.ops().end());
  for (Operation *op : members)
    for (OpOperand &operand : op->getOpOperands())
      group.absorbViews(operand);
  group.outline(FusionKind::gemm);
}

struct FuseGemm : impl::FuseGemmBase<FuseGemm> {
  void runOnOperation() override {
    for (MatmulOp matmul : gemmProducts(getOperation()))
      fuse(matmul);
    if (failed(sortFunction(getOperation())))
      signalPassFailure();
  }
};

} // namespace
} // namespace smelt::passes
