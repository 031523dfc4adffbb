// Makes each norm, softmax or reduction over trailing axes one kernel that keeps its row on chip.
//
//   layer_norm(gather(word, ids) + gather(position, p) + type)   =>   one kernel: embedding lookup,
//   sum and norm
//
// Draws in the pointwise ops before it (a sum that a residual connection reads too becomes a second
// result) and the elementwise ops after it. The row is read once and written once. Reductions over
// other axes are left to `generic`.
#include "passes/fuse/fusion_group.h"
#include "passes/passes.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_FUSEROWWISE
#include "passes/passes.h.inc"

namespace {

/// The first axis of the trailing axes that `op` reduces over; none where it reduces over others.
std::optional<int64_t> firstReducedAxis(Operation *op) {
  int64_t rank = tensorType(op->getOperand(0)).getRank();
  return llvm::TypeSwitch<Operation *, std::optional<int64_t>>(op)
      .Case<LayerNormOp, RmsNormOp>([](auto norm) { return static_cast<int64_t>(norm.getAxis()); })
      .Case<SoftmaxOp>([&](auto softmax) {
        return static_cast<int64_t>(softmax.getAxis()) == rank - 1
                   ? std::optional<int64_t>(rank - 1)
                   : std::nullopt;
      })
      .Case<ReduceOp>([&](auto reduce) -> std::optional<int64_t> {
        SmallVector<int64_t> axes(reduce.getAxes());
        llvm::sort(axes);
        for (auto [index, axis] : llvm::enumerate(axes))
          if (axis != rank - static_cast<int64_t>(axes.size()) + static_cast<int64_t>(index))
            return std::nullopt;
        return axes.empty() ? std::nullopt : std::optional<int64_t>(axes.front());
      })
      .Default(std::nullopt);
}

void fuse(Operation *anchor) {
  Dim elements = tensorType(anchor->getOperand(0)).getNumElements();
  FusionGroup group;
  group.add(anchor);
  auto accept = [&](Operation *op) {
    bool inside =
        llvm::all_of(op->getUsers(), [&](Operation *user) { return group.contains(user); });
    if (inside)
      return true;
    // A full-size value with other readers becomes a second result, if no path leads back.
    if (!op->hasTrait<Elementwise>() || tensorType(op->getResult(0)).getNumElements() != elements)
      return false;
    group.add(op);
    bool legal = group.isAcyclic() && group.liveOuts().size() <= 2;
    group.removeLast();
    return legal;
  };
  for (OpOperand &operand : anchor->getOpOperands())
    group.absorbProducers(operand, accept);
  growEpilogue(group, anchor->getResult(0), [&](Operation *op) {
    return op->hasTrait<Elementwise>() && tensorType(op->getResult(0)).getNumElements() == elements;
  });
  SmallVector<Operation *> members(group.ops());
  for (Operation *op : members)
    for (OpOperand &operand : op->getOpOperands())
      group.absorbViews(operand);
  group.outline(FusionKind::rowwise);
}

struct FuseRowwise : impl::FuseRowwiseBase<FuseRowwise> {
  void runOnOperation() override {
    SmallVector<Operation *> anchors;
    getOperation().walk([&](Operation *op) {
      if (isa<LayerNormOp, RmsNormOp, SoftmaxOp, ReduceOp>(op) && isFree(op) &&
          firstReducedAxis(op))
        anchors.push_back(op);
    });
    for (Operation *anchor : anchors)
      fuse(anchor);
    if (failed(sortFunction(getOperation())))
      signalPassFailure();
  }
};

} // namespace
} // namespace smelt::passes
