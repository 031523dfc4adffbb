// Makes each op that picks elements by their order one kernel, with what computes the elements.
//
//   top_k(transpose(sigmoid(x)))   =>   one kernel: the rows' elements are computed as they are read
//
// Draws in the pointwise ops before it that nobody else reads, and views. Its results (values,
// positions) are results of the fusion, those of them that are read.
#include "passes/fuse/fusion_group.h"
#include "passes/passes.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_FUSESELECTION
#include "passes/passes.h.inc"

namespace {

void fuse(TopKOp anchor) {
  FusionGroup group;
  group.add(anchor);
  group.absorbProducers(anchor->getOpOperand(0), [&](Operation *op) {
    return llvm::all_of(op->getUsers(), [&](Operation *user) { return group.contains(user); });
  });
  SmallVector<Operation *> members(group.ops());
  for (Operation *op : members)
    for (OpOperand &operand : op->getOpOperands())
      group.absorbViews(operand);
  group.outline(FusionKind::selection);
}

struct FuseSelection : impl::FuseSelectionBase<FuseSelection> {
  void runOnOperation() override {
    SmallVector<TopKOp> anchors(getOperation().getOps<TopKOp>());
    for (TopKOp anchor : anchors)
      if (!anchor.use_empty())
        fuse(anchor);
    if (failed(sortFunction(getOperation())))
      signalPassFailure();
  }
};

} // namespace
} // namespace smelt::passes
