// Makes each op that picks elements by their order one kernel, with what computes the elements.
//
//   top_k(transpose(sigmoid(x)))   =>   one kernel: the rows' elements are computed as they are read
//
// Draws in the pointwise ops before it that nobody else reads, and views. Its results (values,
// positions) are results of the fusion, those of them that are read.
#include "passes/fuse/fusion_group.h"
#include "passes/passes.h"
#include "passes/remark.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_FUSESELECTION
#include "passes/passes.h.inc"

namespace {

void fuse(TopKOp anchor, Remarks &remarks) {
  FusionGroup group;
  group.add(anchor);
  group.absorbProducers(anchor->getOpOperand(0), [&](Operation *op) {
    bool isOurs =
        llvm::all_of(op->getUsers(), [&](Operation *user) { return group.contains(user); });
    if (!isOurs)
      remarks.refused(op->getLoc(), "selection", "only the kernel reads it",
                      "a kernel reads what it computes");
    return isOurs;
  });
  SmallVector<Operation *> members(group.ops());
  for (Operation *op : members)
    for (OpOperand &operand : op->getOpOperands())
      group.absorbViews(operand);
  remarks.taken(anchor.getLoc(), "selection", describe(group));
  group.outline(FusionKind::selection);
}

struct FuseSelection : impl::FuseSelectionBase<FuseSelection> {
  void runOnOperation() override {
    Remarks remarks(getOperation());
    SmallVector<TopKOp> anchors;
    getOperation().walk([&](TopKOp op) {
      if (isFree(op) && !op->use_empty())
        anchors.push_back(op);
    });
    for (TopKOp anchor : anchors)
      fuse(anchor, remarks);
  }
};

} // namespace
} // namespace smelt::passes
