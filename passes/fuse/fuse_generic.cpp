// Wraps each op that no template fuses (cumsum, convolution, products of integers or doubles,
// reductions over leading axes, scatters, ...) into a fusion of its own, so that every op has a GPU kernel.
// Inputs are materialised tensors.
#include "passes/fuse/fusion_group.h"
#include "passes/passes.h"
#include "passes/remark.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_FUSEGENERIC
#include "passes/passes.h.inc"

namespace {

/// The data of a scatter are copied to its result: they lie in memory.
bool isCopied(OpOperand &operand) {
  return operand.getOperandNumber() == 0 && isa<ScatterElementsOp, ScatterNdOp>(operand.getOwner());
}

struct FuseGeneric : impl::FuseGenericBase<FuseGeneric> {
  void runOnOperation() override {
    Remarks remarks(getOperation());
    SmallVector<Operation *> ops;
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Operation &op : function.getBody().front())
        if (isFree(&op) && !isPointwise(&op) && !isa<AppendOp>(op) && !isConcatenationOfMany(&op))
          ops.push_back(&op);
    for (Operation *op : ops) {
      FusionGroup group;
      group.add(op);
      for (OpOperand &operand : op->getOpOperands())
        if (isLiteral(operand.get()) && !isCopied(operand))
          group.absorbViews(operand);
      remarks.taken(op->getLoc(), "generic", describe(group) + " alone: no template fuses it");
      group.outline(FusionKind::generic);
    }
  }
};

} // namespace
} // namespace smelt::passes
