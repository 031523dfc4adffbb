// A fusion is evaluated as the ops that it holds.
#include "ir/interpret/program.h"

using namespace mlir;

namespace smelt::interpret {

FailureOr<SmallVector<HostTensor>> evaluateFusion(FusionOp op, Operands operands,
                                                  Evaluator &evaluator) {
  return Program(op.getBlock()).run(operands, evaluator);
}

} // namespace smelt::interpret
