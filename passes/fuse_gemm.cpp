// Makes each matrix product one kernel, with the views before it and the elementwise ops after it.
//
//   gelu(x W + b), (x W + b) + residual, ...   =>   one GEMM whose epilogue computes on the
//   accumulators
//
// Every elementwise op drawn into the epilogue saves writing and reading the product once. Grows
// forward while the result keeps one reader (diamonds such as x * sigmoid(x) included) and its
// number of elements; reads of other tensors (bias, residual) become loads of the epilogue, through
// views where there are any.
#include "passes/fusion_group.h"
#include "passes/passes.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_FUSEGEMM
#include "passes/passes.h.inc"

namespace {

void fuse(MatmulOp matmul) {
  FusionGroup group;
  group.add(matmul);
  Dim elements = tensorType(matmul.getOutput()).getNumElements();
  growEpilogue(group, matmul.getOutput(), [&](Operation *op) {
    return (op->hasTrait<Elementwise>() || isa<ReshapeOp>(op)) &&
           tensorType(op->getResult(0)).getNumElements() == elements;
  });
  SmallVector<Operation *> members(group.ops());
  for (Operation *op : members)
    for (OpOperand &operand : op->getOpOperands())
      group.absorbViews(operand);
  group.outline(FusionKind::gemm);
}

struct FuseGemm : impl::FuseGemmBase<FuseGemm> {
  void runOnOperation() override {
    SmallVector<MatmulOp> matmuls;
    getOperation().walk([&](MatmulOp op) {
      if (isFree(op) && isa<FloatType>(tensorType(op.getOutput()).getElementType()) &&
          !tensorType(op.getOutput()).getElementType().isF64())
        matmuls.push_back(op);
    });
    for (MatmulOp matmul : matmuls)
      fuse(matmul);
    if (failed(sortFunction(getOperation())))
      signalPassFailure();
  }
};

} // namespace
} // namespace smelt::passes
