// Fusions: inputs, region arguments, yield and results must agree, and a template take the rest.
#include "ir/capabilities.h"
#include "ir/ops/common.h"

using namespace mlir;

namespace smelt {

LogicalResult FusionOp::verify() {
  Block &block = getBlock();
  if (block.getArgumentTypes() != TypeRange(getInputs()))
    return emitOpError("region arguments must have the types of the inputs");
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || TypeRange(yield.getOperands()) != getResultTypes())
    return emitOpError("must end in a smelt.yield of the results");
  return success();
}

LogicalResult FusionOp::verifyRegions() { return verifyFusedForm(*this); }

} // namespace smelt
