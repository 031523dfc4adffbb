// Makes each norm, softmax or reduction over trailing axes one kernel that keeps its row on chip.
//
//   layer_norm(gather(word, ids) + gather(position, p) + type)   =>   one kernel: embedding lookup,
//   sum and norm
//
// Draws in the pointwise ops before it (a sum that a residual connection reads too becomes a second
// result) and the elementwise ops after it. The row is read once and written once. Reductions over
// other axes are left to `columnwise`, norms to `generic`.
#include "passes/fuse/fusion_group.h"
#include "passes/passes.h"
#include "passes/remark.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_FUSEROWWISE
#include "passes/passes.h.inc"

namespace {

/// Forms the kernels of one reduction after the other.
class RowwiseFusion {
public:
  explicit RowwiseFusion(Remarks &remarks) : remarks(remarks) {}

  void fuse(RowReduction anchor) {
    Dim elements = tensorType(anchor.getReduced()).getNumElements();
    FusionGroup group;
    group.add(anchor);
    for (OpOperand &operand : anchor->getOpOperands())
      group.absorbProducers(operand,
                            [&](Operation *op) { return acceptProducer(op, group, elements); });
    Boundary boundary = growEpilogue(group, [&](Operation *op) {
      return op->hasTrait<Elementwise>() &&
             tensorType(op->getResult(0)).getNumElements() == elements;
    });
    SmallVector<Operation *> members(group.ops());
    for (Operation *op : members)
      for (OpOperand &operand : op->getOpOperands())
        group.absorbViews(operand);
    remarks.taken(anchor.getLoc(), "rowwise", describe(group));
    if (boundary.reader && !boundary.reader->hasTrait<OpTrait::IsTerminator>())
      remarks.refused(boundary.reader->getLoc(), "rowwise epilogue", boundary.predicate,
                      "it reads the result of " + nodeName(anchor.getLoc()));
    group.outline(FusionKind::rowwise);
  }

private:
  /// `op` computes what the row is read from. Ops that others read too are computed by themselves,
  /// but a tensor of the row's size may be a second result, if no path leads back.
  bool acceptProducer(Operation *op, FusionGroup &group, Dim elements) {
    auto isInside = [&](Operation *user) { return group.contains(user); };
    if (llvm::all_of(op->getUsers(), isInside))
      return true;
    StringRef obstacle;
    if (!op->hasTrait<Elementwise>() || tensorType(op->getResult(0)).getNumElements() != elements) {
      obstacle = "only the kernel reads it, or it has as many elements as the rows";
    } else {
      group.add(op);
      if (!group.isAcyclic())
        obstacle = "no path leads from the kernel back into it";
      else if (group.liveOuts().size() > 2)
        obstacle = "a kernel stores at most one tensor beside its result";
      group.removeLast();
    }
    if (!obstacle.empty())
      remarks.refused(op->getLoc(), "rowwise prologue", obstacle,
                      "a kernel reads what it computes");
    return obstacle.empty();
  }

  Remarks &remarks;
};

struct FuseRowwise : impl::FuseRowwiseBase<FuseRowwise> {
  void runOnOperation() override {
    Remarks remarks(getOperation());
    RowwiseFusion fusion(remarks);
    SmallVector<RowReduction> anchors;
    getOperation().walk([&](RowReduction op) {
      if (isFree(op) && op.getFirstReducedAxis())
        anchors.push_back(op);
      else if (isFree(op))
        remarks.refused(op.getLoc(), "rowwise", "reduces trailing axes",
                        "others are columnwise or generic");
    });
    for (RowReduction anchor : anchors)
      fusion.fuse(anchor);
  }
};

} // namespace
} // namespace smelt::passes
