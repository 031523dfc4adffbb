// Makes kernels of what no anchor took: elementwise ops, gathers, concatenations, and views that
// must be materialised. What is appended to a buffer is computed where it is stored.
//
// Works from the last op to the first: each result that a kernel or the caller reads becomes a
// fusion and draws in the pointwise ops behind it that nobody else reads. A reshape of a kernel's
// result stays: it only renames a buffer.
#include "passes/fuse/fusion_group.h"
#include "passes/passes.h"
#include "passes/remark.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_FUSEPOINTWISE
#include "passes/passes.h.inc"

namespace {

/// A reshape of a buffer that exists anyway.
bool isAlias(Operation *op) {
  if (!isa<ReshapeOp>(op))
    return false;
  Operation *producer = op->getOperand(0).getDefiningOp();
  return !producer || !isFree(producer) || !isPointwise(producer) || isAlias(producer);
}

struct FusePointwise : impl::FusePointwiseBase<FusePointwise> {
  void runOnOperation() override {
    Remarks remarks(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      fuse(function.getBody().front(), remarks);
  }

private:
  static void fuse(Block &block, Remarks &remarks) {
    for (Operation *op = block.getTerminator()->getPrevNode(), *previous; op; op = previous) {
      previous = op->getPrevNode();
      bool joinsMany = isConcatenationOfMany(op);
      if (!isFree(op) || !(isPointwise(op) || isa<AppendOp>(op) || joinsMany) || isAlias(op))
        continue;
      if (op->use_empty()) {
        op->erase();
        continue;
      }
      FusionGroup group;
      group.add(op);
      for (OpOperand &operand : op->getOpOperands())
        if (joinsMany)
          group.absorbViews(operand);
        else
          group.absorbProducers(operand, [&](Operation *producer) {
            bool isOurs = llvm::all_of(producer->getUsers(),
                                       [&](Operation *user) { return group.contains(user); });
            if (!isOurs)
              remarks.refused(producer->getLoc(), "pointwise", "one kernel alone reads it",
                              "it is a kernel's result, computed once");
            return isOurs;
          });
      remarks.taken(op->getLoc(), "pointwise", describe(group));
      FusionOp fusion = group.outline(FusionKind::pointwise);
      previous = fusion->getPrevNode();
    }
  }
};

} // namespace
} // namespace smelt::passes
