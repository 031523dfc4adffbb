// Views and concatenation. A reshape shares its input's values; the others copy.
#include "ir/interpret/evaluator.h"
#include "ir/interpret/strided.h"

#include <cstring>

using namespace mlir;

namespace smelt::interpret {

namespace {

Result copyView(Operation *op, const HostTensor &input, int64_t offset, ArrayRef<int64_t> strides,
                ArrayRef<int64_t> shape, Evaluator &evaluator) {
  Result result = evaluator.allocate(op, shape);
  if (succeeded(result))
    copyStrided(input, offset, strides, *result, evaluator.threads);
  return result;
}

} // namespace

Result evaluateOp(ReshapeOp op, Operands operands, Evaluator &evaluator) {
  FailureOr<Shape> shape = evaluator.resultShape(op);
  if (failed(shape))
    return failure();
  if (elementCount(*shape) != operands[0].getNumElements())
    return op.emitError("cannot turn shape ")
           << toString(operands[0].getShape()) << " into " << toString(ArrayRef<int64_t>(*shape));
  return std::move(operands[0]).reshaped(*shape);
}

Result evaluateOp(ExpandOp op, Operands operands, Evaluator &evaluator) {
  FailureOr<Shape> shape = evaluator.resultShape(op);
  if (failed(shape))
    return failure();
  const HostTensor &input = operands[0];
  if (input.getShape() == ArrayRef<int64_t>(*shape))
    return std::move(operands[0]);
  SmallVector<int64_t> strides(shape->size(), 0), inputStrides = rowMajorStrides(input.getShape());
  int64_t added = shape->size() - input.getRank();
  for (int64_t axis = 0; axis < input.getRank(); ++axis) {
    int64_t from = input.getSize(axis), to = (*shape)[added + axis];
    if (from != 1 && from != to)
      return op.emitError("cannot expand shape ")
             << toString(input.getShape()) << " to " << toString(ArrayRef<int64_t>(*shape));
    strides[added + axis] = from == 1 ? 0 : inputStrides[axis];
  }
  return copyView(op, input, 0, strides, *shape, evaluator);
}

Result evaluateOp(TransposeOp op, Operands operands, Evaluator &evaluator) {
  const HostTensor &input = operands[0];
  SmallVector<int64_t> inputStrides = rowMajorStrides(input.getShape()), strides;
  Shape shape;
  for (int64_t axis : op.getPermutation()) {
    shape.push_back(input.getSize(axis));
    strides.push_back(inputStrides[axis]);
  }
  return copyView(op, input, 0, strides, shape, evaluator);
}

Result evaluateOp(SliceOp op, Operands operands, Evaluator &evaluator) {
  FailureOr<Shape> shape = evaluator.resultShape(op);
  if (failed(shape))
    return failure();
  const HostTensor &input = operands[0];
  SmallVector<int64_t> strides = rowMajorStrides(input.getShape());
  int64_t offset = 0;
  for (auto [axis, size] : llvm::enumerate(*shape)) {
    FailureOr<int64_t> start = evaluator.valueOf(op, Dim(cast<DimAttr>(op.getStarts()[axis])));
    if (failed(start))
      return failure();
    int64_t step = op.getSteps()[axis], limit = input.getSize(axis), last;
    bool overflow = __builtin_mul_overflow(size - 1, step, &last) ||
                    __builtin_add_overflow(last, *start, &last);
    if (size != 0 && (overflow || *start < 0 || *start >= limit || last < 0 || last >= limit))
      return op.emitError("leaves axis ")
             << axis << " of shape " << toString(input.getShape()) << ": " << size
             << " elements from " << *start << " in steps of " << step;
    offset += size != 0 ? *start * strides[axis] : 0;
    strides[axis] *= size > 1 ? step : 0;
  }
  return copyView(op, input, offset, strides, *shape, evaluator);
}

Result evaluateOp(WindowsOp op, Operands operands, Evaluator &evaluator) {
  FailureOr<Shape> shape = evaluator.resultShape(op);
  if (failed(shape))
    return failure();
  const HostTensor &input = operands[0];
  int64_t axis = op.getAxis(), stride = op.getStride(), dilation = op.getDilation();
  int64_t count = (*shape)[axis], length = (*shape)[axis + 1], limit = input.getSize(axis);
  int64_t last, lastInWindow;
  bool overflow = __builtin_mul_overflow(count - 1, stride, &last) ||
                  __builtin_mul_overflow(length - 1, dilation, &lastInWindow) ||
                  __builtin_add_overflow(last, lastInWindow, &last);
  if (count != 0 && length != 0 && (overflow || last >= limit))
    return op.emitError("leaves axis ")
           << axis << " of shape " << toString(input.getShape()) << ": " << count << " windows of "
           << length << " elements, stride " << stride << ", dilation " << dilation;
  SmallVector<int64_t> strides = rowMajorStrides(input.getShape());
  strides.insert(strides.begin() + axis + 1, length > 1 ? strides[axis] * dilation : 0);
  strides[axis] *= count > 1 ? stride : 0;
  return copyView(op, input, 0, strides, *shape, evaluator);
}

Result evaluateOp(ConcatOp op, Operands operands, Evaluator &evaluator) {
  int64_t axis = op.getAxis();
  Shape shape(operands[0].getShape());
  int64_t total = 0;
  for (const HostTensor &operand : operands) {
    shape[axis] = operand.getSize(axis);
    if (operand.getShape() != ArrayRef<int64_t>(shape))
      return op.emitError("inputs differ outside axis ")
             << axis << ": " << toString(operands[0].getShape()) << " and "
             << toString(operand.getShape());
    total += shape[axis];
  }
  shape[axis] = total;
  Result result = evaluator.allocate(op, shape);
  if (failed(result))
    return failure();
  int64_t outer = product(ArrayRef(shape).take_front(axis)),
          row = product(ArrayRef(shape).drop_front(axis));
  visitStorage(result->getStorage(), [&](auto *tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    T *to = result->template mutableValues<T>().data();
    for (const HostTensor &operand : operands) {
      int64_t piece = product(operand.getShape().drop_front(axis));
      const T *from = operand.values<T>().data();
      for (int64_t index = 0; index < outer; ++index)
        std::memcpy(to + index * row, from + index * piece, piece * sizeof(T));
      to += piece;
    }
  });
  return result;
}

} // namespace smelt::interpret
