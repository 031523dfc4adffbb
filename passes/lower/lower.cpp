// Brings the module into the fused form that the code generator accepts, checks it, and drops what
// nobody reads any more.
//
// Fused form: at the top level of @main only weights, constants, weight expressions, fusions,
// reshapes that rename a buffer, buffers of inputs that grow in place and their contents, and the
// return. Each result is a buffer of its own that a fusion writes, or the contents of one that it
// appends to: inputs, constants and results that are returned again are copied.
#include "passes/fuse/fusion_group.h"
#include "passes/passes.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_LOWER
#include "passes/passes.h.inc"

namespace {

/// What `value` renames.
Value renamed(Value value) {
  while (isa_and_nonnull<ReshapeOp, ContentsOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

Value copyOf(Value value, OpBuilder &builder) {
  auto fusion = FusionOp::create(builder, value.getLoc(), TypeRange(value.getType()),
                                 FusionKind::pointwise, ValueRange(value));
  Block &block = fusion.getBody().emplaceBlock();
  block.addArgument(value.getType(), value.getLoc());
  OpBuilder body = OpBuilder::atBlockEnd(&block);
  YieldOp::create(body, value.getLoc(), block.getArguments());
  return fusion.getResult(0);
}

void copySharedResults(Operation *terminator) {
  OpBuilder builder(terminator);
  llvm::SmallPtrSet<Value, 8> written;
  for (OpOperand &result : terminator->getOpOperands()) {
    Value buffer = renamed(result.get());
    if (!buffer.getDefiningOp<FusionOp>() || !written.insert(buffer).second)
      result.set(copyOf(result.get(), builder));
  }
}

struct Lower : impl::LowerBase<Lower> {
  void runOnOperation() override {
    Block &block = getOperation().getBody().front();
    copySharedResults(block.getTerminator());
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (op.getNumResults() > 0 && op.use_empty())
        op.erase();
    for (Operation &op : block.without_terminator())
      if (isFree(&op) && !isa<ReshapeOp>(op)) {
        op.emitError("is in no fusion");
        return signalPassFailure();
      }
  }
};

} // namespace
} // namespace smelt::passes
