// simplify-constants: what is computed from small constants alone is a constant.
//
// Exporters leave scales such as sqrt(1 / sqrt(64)) in the graph, masks of constants, and casts of
// scalars. The interpreter evaluates them in double precision, rounded once to the result's type.
// Only small results: a large one is data, which codegen computes once at compile time and keeps as
// a weight. An expand of a scalar stays one.
#include "passes/constants.h"
#include "passes/dead_ops.h"
#include "passes/passes.h"

#include "ir/interpret/interpret.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_SIMPLIFYCONSTANTS
#include "passes/passes.h.inc"

namespace {

constexpr int64_t kMaxElements = 64;

/// Computes, from constants alone, a result that is worth writing out.
bool isFoldable(Operation *op) {
  if (op->getNumOperands() == 0 || op->getNumResults() != 1 || isa<ExpandOp>(op) ||
      !isa<TensorType>(op->getResult(0).getType()) || !isMemoryEffectFree(op))
    return false;
  std::optional<int64_t> count = tensorType(op->getResult(0)).getNumElements().asConstant();
  return count && *count <= kMaxElements && tensorType(op->getResult(0)).isStatic() &&
         llvm::all_of(op->getOperands(), [](Value operand) {
           auto constant = operand.getDefiningOp<ConstantOp>();
           return constant && isa<DenseElementsAttr>(constant.getValue());
         });
}

struct SimplifyConstants : impl::SimplifyConstantsBase<SimplifyConstants> {
  void runOnOperation() override {
    // An op that cannot be evaluated, such as an index outside its data, reports when it runs.
    ScopedDiagnosticHandler silence(&getContext(), [](Diagnostic &) { return success(); });
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops) {
      if (!isFoldable(op))
        continue;
      EvaluateOptions options;
      options.precision = Precision::f64;
      FailureOr<HostTensor> value =
          evaluate(op->getResult(0), llvm::DenseMap<Value, HostTensor>(), Symbols(), options);
      if (failed(value))
        continue;
      OpBuilder builder(op);
      op->getResult(0).replaceAllUsesWith(
          ConstantOp::create(builder, op->getLoc(), value->toAttribute()));
    }
    eraseDeadOps(getOperation());
  }
};

} // namespace

} // namespace smelt::passes
