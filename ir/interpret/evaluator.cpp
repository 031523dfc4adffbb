#include "ir/interpret/evaluator.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace smelt::interpret {

namespace {

Result dispatch(Operation *op, Operands operands, Evaluator &evaluator) {
  if (op->hasTrait<Elementwise>())
    return evaluateElementwise(op, operands, evaluator);
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case<ConstantOp, WeightOp, DimsOp, IotaOp>(
          [&](auto source) { return evaluateOp(source, operands, evaluator); })
      .Case<ReshapeOp, ExpandOp, TransposeOp, SliceOp, WindowsOp, ConcatOp>(
          [&](auto view) { return evaluateOp(view, operands, evaluator); })
      .Case<BufferOp, AppendOp, ContentsOp>(
          [&](auto state) { return evaluateOp(state, operands, evaluator); })
      .Case<MatmulOp, ConvOp, AttentionOp>(
          [&](auto contraction) { return evaluateOp(contraction, operands, evaluator); })
      .Case<ReduceOp, SoftmaxOp, LayerNormOp, RmsNormOp, CumsumOp, CumprodOp>(
          [&](auto reduction) { return evaluateOp(reduction, operands, evaluator); })
      .Case<RowMomentsOp, MomentsMeanOp, MomentsRstdOp, MomentsRrmsOp>(
          [&](auto moments) { return evaluateOp(moments, operands, evaluator); })
      .Case<GatherOp, GatherElementsOp, GatherNdOp>(
          [&](auto gather) { return evaluateOp(gather, operands, evaluator); })
      .Case<ScatterElementsOp, ScatterNdOp>(
          [&](auto scatter) { return evaluateOp(scatter, operands, evaluator); })
      .Default([](Operation *other) {
        return other->emitError("the interpreter does not know the op ") << other->getName();
      });
}

Results dispatchAll(Operation *op, Operands operands, Evaluator &evaluator) {
  if (auto fusion = dyn_cast<FusionOp>(op))
    return evaluateFusion(fusion, operands, evaluator);
  if (auto topK = dyn_cast<TopKOp>(op))
    return evaluateOp(topK, operands, evaluator);
  Result result = dispatch(op, operands, evaluator);
  if (failed(result))
    return failure();
  return SmallVector<HostTensor>{std::move(*result)};
}

/// Every result must have the shape that its type promises: consumers rely on it.
LogicalResult checkResults(Operation *op, ArrayRef<HostTensor> results, Evaluator &evaluator) {
  for (auto [value, tensor] : llvm::zip(op->getResults(), results)) {
    FailureOr<Shape> expected = evaluator.shapeOf(op, tensorType(value));
    if (failed(expected))
      return failure();
    if (tensor.getShape() != ArrayRef(*expected))
      return op->emitError("computes shape ")
             << toString(tensor.getShape()) << " where its type " << value.getType() << " says "
             << toString(ArrayRef<int64_t>(*expected));
  }
  return success();
}

} // namespace

Results Evaluator::evaluate(Operation *op, Operands operands) {
  if (op->getNumOperands() != operands.size())
    return op->emitError("needs ") << op->getNumOperands() << " operands, got " << operands.size();
  Results results = dispatchAll(op, operands, *this);
  if (failed(results) || failed(checkResults(op, *results, *this)))
    return failure();
  return results;
}

FailureOr<int64_t> Evaluator::valueOf(Operation *op, Dim dim) {
  auto [entry, isNew] = values.try_emplace(dim.getAttribute(), 0);
  if (!isNew)
    return entry->second;
  std::optional<int64_t> value = evaluateDim(dim, symbols);
  if (!value) {
    values.erase(entry);
    return op->emitError("dimension ")
           << dim.toString() << " has no value for " << toString(symbols);
  }
  return entry->second = *value;
}

FailureOr<Shape> Evaluator::shapeOf(Operation *op, TensorType type) {
  Shape shape;
  for (DimAttr dim : type.getDims()) {
    FailureOr<int64_t> size = valueOf(op, Dim(dim));
    if (failed(size))
      return failure();
    if (*size < 0)
      return op->emitError("dimension ")
             << Dim(dim).toString() << " is " << *size << " for " << toString(symbols);
    shape.push_back(*size);
  }
  return shape;
}

Result Evaluator::allocate(Operation *op, ArrayRef<int64_t> shape) {
  return allocate(op, shape, tensorType(op->getResult(0)).getElementType());
}

Result Evaluator::allocate(Operation *op, ArrayRef<int64_t> shape, Type elementType) {
  std::optional<HostTensor> tensor =
      HostTensor::allocate(shape, elementType, storageFor(elementType, precision));
  if (tensor)
    return *tensor;
  if (!hasArithmetic(elementType))
    return op->emitError("the interpreter has no arithmetic for element type ") << elementType;
  ranOutOfMemory = true;
  return op->emitError("there is no memory for a tensor of shape ")
         << toString(shape) << " and element type " << elementType;
}

Result Evaluator::reuseOrAllocate(Operation *op, ArrayRef<int64_t> shape, HostTensor &candidate) {
  Type elementType = tensorType(op->getResult(0)).getElementType();
  bool fits = candidate.ownsValuesAlone() && candidate.getShape() == shape &&
              candidate.getStorage() == storageFor(elementType, precision);
  return fits ? Result(std::move(candidate).declaredAs(elementType))
              : allocate(op, shape, elementType);
}

} // namespace smelt::interpret
