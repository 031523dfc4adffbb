// Ops without operands: constants, weights, dimensions as data, iota.
#include "ir/interpret/elementwise.h"
#include "ir/interpret/evaluator.h"

using namespace mlir;

namespace smelt::interpret {

Result evaluateOp(ConstantOp op, Operands, Evaluator &evaluator) {
  std::optional<HostTensor> tensor = HostTensor::fromAttribute(op.getValue(), evaluator.precision);
  if (!tensor)
    return op.emitError("has a value that the interpreter cannot read: ")
           << op.getValue().getType();
  return *tensor;
}

Result evaluateOp(WeightOp op, Operands, Evaluator &evaluator) {
  if (!evaluator.weights)
    return op.emitError("weight '")
           << op.getName() << "' has no bytes here: no weight store was given";
  FailureOr<ArrayRef<char>> bytes = evaluator.weights->bytes(op);
  FailureOr<Shape> shape = evaluator.resultShape(op);
  if (failed(bytes) || failed(shape))
    return failure();
  Type elementType = tensorType(op.getOutput()).getElementType();
  std::optional<HostTensor> tensor =
      HostTensor::fromBytes(*shape, elementType, *bytes, evaluator.precision);
  if (!tensor)
    return op.emitError("weight '") << op.getName() << "' of " << bytes->size()
                                    << " bytes does not fit " << op.getOutput().getType();
  return *tensor;
}

Result evaluateOp(DimsOp op, Operands, Evaluator &evaluator) {
  FailureOr<Shape> shape = evaluator.resultShape(op);
  if (failed(shape))
    return failure();
  Result result = evaluator.allocate(op, *shape);
  if (failed(result))
    return failure();
  MutableArrayRef<int64_t> values = result->mutableValues<int64_t>();
  for (auto [value, dim] : llvm::zip(values, op.getDims())) {
    FailureOr<int64_t> size = evaluator.valueOf(op, Dim(cast<DimAttr>(dim)));
    if (failed(size))
      return failure();
    value = *size;
  }
  return result;
}

Result evaluateOp(IotaOp op, Operands, Evaluator &evaluator) {
  FailureOr<Shape> shape = evaluator.resultShape(op);
  if (failed(shape))
    return failure();
  Result result = evaluator.allocate(op, *shape);
  if (failed(result))
    return failure();
  visitStorage(result->getStorage(), [&](auto *tag) {
    auto values = result->template mutableValues<std::remove_pointer_t<decltype(tag)>>();
    int64_t next = 0;
    for (auto &value : values)
      value = next++;
  });
  wrapIntegers(*result);
  return result;
}

} // namespace smelt::interpret
