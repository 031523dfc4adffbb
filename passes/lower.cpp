// Checks that the module has the fused form that the code generator accepts, and drops what nobody
// reads any more.
//
// Fused form: at the top level of @main only weights, constants, weight expressions, fusions,
// reshapes that rename a buffer, and the return.
#include "passes/fusion_group.h"
#include "passes/passes.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_LOWER
#include "passes/passes.h.inc"

namespace {

struct Lower : impl::LowerBase<Lower> {
  void runOnOperation() override {
    Block &block = getOperation().getBody().front();
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (op.getNumResults() > 0 && op.use_empty())
        op.erase();
    for (Operation &op : block.without_terminator())
      if (isFree(&op) && !isa<ReshapeOp>(op)) {
        op.emitError("is in no fusion; this is a bug in Smelt");
        return signalPassFailure();
      }
  }
};

} // namespace
} // namespace smelt::passes
