// Gives each reader of dequantised bytes a dequantisation of its own.
//
//   %x = dequantise %bytes                       %x = dequantise %bytes
//   relu %x                                 =>   relu %x
//   add %y, %x                                   %z = dequantise %bytes
//                                                add %y, %z
//
// Shared, it would be a kernel that stores numbers four times as long as the bytes, for kernels that
// could as well read the bytes. Its copies are drawn into the kernels that read them.
#include "passes/fuse/dequantization.h"
#include "passes/passes.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_FUSEDEQUANTIZATION
#include "passes/passes.h.inc"

namespace {

struct FuseDequantization : impl::FuseDequantizationBase<FuseDequantization> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Operation &op : function.getBody().front())
        if (isFree(&op) && isDequantization(&op))
          ops.push_back(&op);
    // From the last: the copies of a reader read copies of what it reads.
    while (!ops.empty()) {
      Operation *op = ops.pop_back_val();
      while (!op->use_empty() && !op->hasOneUse()) {
        OpOperand &use = *op->use_begin();
        use.set(OpBuilder(op).clone(*op)->getResult(0));
      }
    }
  }
};

} // namespace
} // namespace smelt::passes
