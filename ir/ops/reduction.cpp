// Reductions, softmax, norms and running sums: axis checks and result shapes.
#include "ir/ops/common.h"

using namespace mlir;

namespace smelt {

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                         ValueRange operands, DictionaryAttr attributes,
                                         OpaqueProperties properties, RegionRange regions,
                                         SmallVectorImpl<Type> &results) {
  Adaptor adaptor(operands, attributes, properties, regions);
  TensorType input = tensorType(operands[0]);
  SmallVector<Dim> shape = input.getShape();
  for (int64_t axis : adaptor.getAxes()) {
    if (axis < 0 || axis >= input.getRank())
      return inferError(location, "axis ", axis, " is outside rank ", input.getRank());
    shape[axis] = Dim::constant(context, 1);
  }
  results.push_back(input.withShape(shape));
  return success();
}

static LogicalResult inferNorm(std::optional<Location> location, TensorType input, int64_t axis,
                               SmallVectorImpl<Type> &results) {
  if (axis < 0 || axis >= input.getRank())
    return inferError(location, "axis ", axis, " is outside rank ", input.getRank());
  results.push_back(input);
  return success();
}

LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            ValueRange operands, DictionaryAttr attributes,
                                            OpaqueProperties properties, RegionRange regions,
                                            SmallVectorImpl<Type> &results) {
  Adaptor adaptor(operands, attributes, properties, regions);
  return inferNorm(location, tensorType(operands[0]), adaptor.getAxis(), results);
}

LogicalResult RmsNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                          ValueRange operands, DictionaryAttr attributes,
                                          OpaqueProperties properties, RegionRange regions,
                                          SmallVectorImpl<Type> &results) {
  Adaptor adaptor(operands, attributes, properties, regions);
  return inferNorm(location, tensorType(operands[0]), adaptor.getAxis(), results);
}

static LogicalResult verifyAxis(Operation *op, int64_t axis) {
  unsigned rank = tensorType(op->getOperand(0)).getRank();
  return axis >= 0 && axis < rank
             ? success()
             : op->emitOpError() << "axis " << axis << " is outside rank " << rank;
}

LogicalResult SoftmaxOp::verify() { return verifyAxis(*this, getAxis()); }
LogicalResult CumsumOp::verify() { return verifyAxis(*this, getAxis()); }

} // namespace smelt
