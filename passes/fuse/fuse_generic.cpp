// Wraps each op that no template fuses (cumsum, convolution, products of integers or doubles,
// reductions over leading axes, ...) into a fusion of its own, so that every op has a GPU kernel.
// Inputs are materialised tensors.
#include "passes/fuse/fusion_group.h"
#include "passes/passes.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_FUSEGENERIC
#include "passes/passes.h.inc"

namespace {

struct FuseGeneric : impl::FuseGenericBase<FuseGeneric> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    for (Operation &op : getOperation().getBody().front())
      if (isFree(&op) && !isPointwise(&op) && !isa<AppendOp>(op) && !isConcatenationOfMany(&op))
        ops.push_back(&op);
    for (Operation *op : ops) {
      FusionGroup group;
      group.add(op);
      for (OpOperand &operand : op->getOpOperands())
        if (isLiteral(operand.get()))
          group.absorbViews(operand);
      group.outline(FusionKind::generic);
    }
    if (failed(sortFunction(getOperation())))
      signalPassFailure();
  }
};

} // namespace
} // namespace smelt::passes
