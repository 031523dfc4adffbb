// raise-softmax: exp(x - max(x)) / sum(exp(x - max(x))) is softmax, with and without the maximum.
//
// Without the maximum the formula overflows where softmax does not; both agree wherever the formula
// has a value.
#include "passes/constants.h"
#include "passes/dead_ops.h"
#include "passes/passes.h"
#include "passes/raise/raise.h"

using namespace mlir;

namespace smelt::passes {

#define GEN_PASS_DEF_RAISESOFTMAX
#include "passes/passes.h.inc"

namespace {

/// The one axis of a reduction of `kind` over `input`.
std::optional<int64_t> reducedAxis(Value value, Value input, ReductionKind kind) {
  auto reduce = value.getDefiningOp<ReduceOp>();
  if (!reduce || reduce.getKind() != kind || reduce.getInput() != input ||
      reduce.getAxes().size() != 1)
    return std::nullopt;
  return reduce.getAxes()[0];
}

struct RaiseSoftmax : impl::RaiseSoftmaxBase<RaiseSoftmax> {
  void runOnOperation() override {
    Raiser raiser(getOperation());
    SmallVector<DivOp> quotients;
    getOperation().walk([&](DivOp op) { quotients.push_back(op); });
    for (DivOp op : quotients)
      raise(op, raiser);
    eraseDeadOps(getOperation());
  }

  static void raise(DivOp op, Raiser &raiser) {
    auto exponential = op.getLhs().getDefiningOp<ExpOp>();
    if (!exponential || op.getOutput().getType() != exponential.getType())
      return;
    std::optional<int64_t> axis =
        reducedAxis(op.getRhs(), exponential.getOutput(), ReductionKind::sum);
    if (!axis)
      return;
    Value x = exponential.getInput();
    auto shifted = x.getDefiningOp<SubOp>();
    if (shifted && reducedAxis(shifted.getRhs(), shifted.getLhs(), ReductionKind::max) == axis)
      x = shifted.getLhs();
    OpBuilder builder(op);
    Value softmax =
        SoftmaxOp::create(builder, fusedLocation({op.getOutput()}, {x}), x.getType(), x, *axis);
    raiser.replace(op.getOutput(), softmax, {x}, 1e-9, "softmax", "exp(x) / sum(exp(x))");
  }
};

} // namespace

} // namespace smelt::passes
