// Makes each reduction over axes before the last one kernel, with what computes its elements.
//
//   reduce sum (windows(x) * filter)   =>   one kernel: a depthwise convolution
//
// Pools, depthwise convolutions and global means of images with their channels last. Draws in the
// pointwise ops before the reduction that nobody else reads, and the elementwise ops after it.
// Windows overlap: what is computed for each element of the image would be computed for each of its
// windows, so that of it only conversions, dequantisation and padding are drawn in.
//
// The row moments of the value at which the kernel ends (fuse_norm.cpp) are its second result.
#include "passes/fuse/columnwise_group.h"
#include "passes/fuse/dequantization.h"
#include "passes/passes.h"
#include "passes/remark.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_FUSECOLUMNWISE
#include "passes/passes.h.inc"

namespace {

class ColumnwiseFusion {
public:
  ColumnwiseFusion(ReduceOp anchor, Remarks &remarks)
      : anchor(anchor), remarks(remarks), elements(tensorType(anchor.getInput()).getNumElements()),
        kernel(planColumnwise(anchor)), group(kernel.group) {}

  void run() {
    group.absorbProducers(anchor.getInputMutable(),
                          [&](Operation *op) { return acceptProducer(op); });
    SmallVector<Operation *> members(group.ops());
    for (Operation *op : members)
      for (OpOperand &operand : op->getOpOperands())
        if (!isWeightExpression(operand.get()) || isLiteral(operand.get()))
          group.absorbViews(operand);
    for (RowMomentsOp moments : momentsOfRows(group))
      group.add(moments);
    remarks.taken(anchor.getLoc(), "columnwise", describe(group));
    Operation *reader = kernel.boundary.reader;
    if (reader && !group.contains(reader) && !reader->hasTrait<OpTrait::IsTerminator>())
      remarks.refused(reader->getLoc(), "columnwise epilogue", kernel.boundary.predicate,
                      "it reads the result of " + nodeName(anchor.getLoc()));
    group.outline(FusionKind::columnwise);
  }

private:
  bool acceptProducer(Operation *op) {
    StringRef obstacle;
    if (llvm::any_of(op->getUsers(), [&](Operation *user) { return !group.contains(user); }))
      obstacle = "only the kernel reads it";
    else if (!isa<CastOp, ConcatOp>(op) && !isDequantization(op) &&
             tensorType(op->getResult(0)).getNumElements() != elements)
      obstacle = "it is computed once for each element that is reduced";
    if (!obstacle.empty())
      remarks.refused(op->getLoc(), "columnwise prologue", obstacle,
                      "a kernel reads what it computes");
    return obstacle.empty();
  }

  ReduceOp anchor;
  Remarks &remarks;
  Dim elements;
  ColumnwiseKernel kernel;
  FusionGroup &group;
};

struct FuseColumnwise : impl::FuseColumnwiseBase<FuseColumnwise> {
  void runOnOperation() override {
    Remarks remarks(getOperation());
    SmallVector<ReduceOp> anchors;
    getOperation().walk([&](ReduceOp op) {
      if (isColumnwise(op))
        anchors.push_back(op);
    });
    for (ReduceOp anchor : anchors)
      ColumnwiseFusion(anchor, remarks).run();
  }
};

} // namespace
} // namespace smelt::passes
