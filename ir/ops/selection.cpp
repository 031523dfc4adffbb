// Ops that pick elements by their order: result shapes.
#include "ir/ops/common.h"

using namespace mlir;

namespace smelt {

LogicalResult TopKOp::verify() {
  TensorType input = tensorType(getInput()), values = tensorType(getValues()),
             positions = tensorType(getPositions());
  if (getAxis() < 0 || getAxis() >= input.getRank())
    return emitOpError("axis ") << getAxis() << " is outside rank " << input.getRank();
  if (values.getRank() != input.getRank())
    return emitOpError("values ") << values << " differ in rank from the input " << input;
  SmallVector<Dim> shape = input.getShape();
  shape[getAxis()] = values.getDim(getAxis());
  if (values != input.withShape(shape))
    return emitOpError("values must be ") << input.withShape(shape) << " up to the size of axis "
                                          << getAxis() << ", got " << values;
  if (positions != values.withElementType(IntegerType::get(getContext(), 64)))
    return emitOpError("positions must be i64 and of the values' shape, got ") << positions;
  std::optional<int64_t> wanted = shape[getAxis()].asConstant(),
                         size = input.getDim(getAxis()).asConstant();
  if (wanted && size && *wanted > *size)
    return emitOpError("asks for ") << *wanted << " of " << *size << " elements";
  return success();
}

} // namespace smelt
