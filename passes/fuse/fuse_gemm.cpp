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
#include "passes/dead_ops.h"
#include "passes/fuse/gemm_group.h"
#include "passes/passes.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_FUSEGEMM
#include "passes/passes.h.inc"

namespace {

/// Forms all kernels of a function.
class GemmFusion {
public:
  /// Grows every kernel before any op moves: what one draws in must not be another's.
  explicit GemmFusion(func::FuncOp function) {
    for (MatmulOp matmul : gemmProducts(function)) {
      groups.push_back(growGemm(matmul, [&](Operation *op) { return taken.contains(op); }));
      taken.insert(groups.back().ops().begin(), groups.back().ops().end());
    }
  }

  void run() {
    for (FusionGroup &group : groups)
      fuse(group);
  }

private:
  bool isTaken(Operation *op) const { return !isFree(op) || taken.contains(op); }

  /// `op` computes elementwise from a statistic of rows, in no kernel so far.
  bool readsRowStatistic(Operation *op) const {
    SmallVector<Operation *> pending{op};
    llvm::DenseSet<Operation *> seen;
    while (!pending.empty()) {
      Operation *next = pending.pop_back_val();
      if (isRowStatistic(next))
        return true;
      if (isTaken(next) || !next->hasTrait<Elementwise>() || !seen.insert(next).second)
        continue;
      for (Value operand : next->getOperands())
        pending.push_back(operand.getDefiningOp());
    }
    return false;
  }

  /// Draws in what `operand` computes from row statistics, and the statistics; what others read too
  /// is cloned.
  void absorbNormalized(FusionGroup &group, OpOperand &operand) const {
    Operation *op = operand.get().getDefiningOp();
    if (isTaken(op) || group.contains(op))
      return;
    bool isStatistic = isRowStatistic(op);
    if (!isStatistic &&
        !(isa<CastOp>(op) || (op->hasTrait<Elementwise>() && readsRowStatistic(op))))
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

  /// Draws in the widening of constants: a load widens for free, and reads the fewer bytes.
  static void absorbWidening(FusionGroup &group, OpOperand &operand) {
    auto cast = operand.get().getDefiningOp<CastOp>();
    if (!cast || group.contains(cast) || !isWeightExpression(cast.getOutput()))
      return;
    auto from = dyn_cast<FloatType>(tensorType(cast.getInput()).getElementType());
    auto to = dyn_cast<FloatType>(tensorType(cast.getOutput()).getElementType());
    if (!from || !to || from.getWidth() >= to.getWidth())
      return;
    Operation *clone = OpBuilder(operand.getOwner()).clone(*cast);
    operand.set(clone->getResult(0));
    group.add(clone);
  }

  void fuse(FusionGroup &group) {
    SmallVector<Operation *> members(group.ops());
    for (Operation *op : members)
      for (OpOperand &operand : op->getOpOperands())
        if (!isa<MatmulOp>(op) && readsRowStatistic(operand.get().getDefiningOp()))
          absorbNormalized(group, operand);
    for (Value end : group.liveOuts())
      for (Operation *user : end.getUsers())
        if (isa<RowMomentsOp>(user) && isFree(user))
          group.add(user);
    members.assign(group.ops().begin(), group.ops().end());
    for (Operation *op : members)
      if (op->hasTrait<Elementwise>())
        for (OpOperand &operand : op->getOpOperands())
          absorbWidening(group, operand);
    members.assign(group.ops().begin(), group.ops().end());
    for (Operation *op : members)
      for (OpOperand &operand : op->getOpOperands())
        group.absorbViews(operand, [&](Operation *producer) {
          // The main loop reads tensors: a literal may only be part of an epilogue.
          bool isReadable = producer->hasTrait<View>() || !isa<MatmulOp>(op);
          return isReadable && !taken.contains(producer);
        });
    for (Operation *op : group.ops())
      taken.erase(op);
    group.outline(FusionKind::gemm);
  }

  SmallVector<FusionGroup> groups;
  llvm::DenseSet<Operation *> taken; // by kernels that are still to be formed
};

struct FuseGemm : impl::FuseGemmBase<FuseGemm> {
  void runOnOperation() override {
    eraseDeadOps(getOperation()); // all that a kernel holds must lead to its result
    GemmFusion(getOperation()).run();
    if (failed(sortFunction(getOperation())))
      signalPassFailure();
  }
};

} // namespace
} // namespace smelt::passes
