// A fusion is evaluated as the ops that it holds.
#include "ir/interpret/program.h"

using namespace mlir;

namespace smelt::interpret {

Results evaluateFusion(FusionOp op, Operands operands, Evaluator &evaluator) {
  return Program(op.getBlock()).run(operands, evaluator);
}

} // namespace smelt::interpret
