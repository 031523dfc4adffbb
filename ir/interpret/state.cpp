// State as values: buffers and what is appended to them are copied.
#include "ir/interpret/evaluator.h"
#include "ir/interpret/strided.h"

#include <cstring>

using namespace mlir;

namespace smelt::interpret {

namespace {

/// Writes the rows of `from` over those of `to` from `start` on, along `axis`.
void writeRows(const HostTensor &from, HostTensor &to, int64_t axis, int64_t start) {
  int64_t outer = product(to.getShape().take_front(axis)),
          row = product(to.getShape().drop_front(axis + 1)), piece = from.getSize(axis) * row,
          stride = to.getSize(axis) * row;
  visitStorage(to.getStorage(), [&](auto *tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    T *target = to.template mutableValues<T>().data() + start * row;
    const T *source = from.values<T>().data();
    for (int64_t index = 0; piece != 0 && index < outer; ++index)
      std::memcpy(target + index * stride, source + index * piece, piece * sizeof(T));
  });
}

Result refuse(Operation *op, int64_t end, int64_t room, int64_t axis) {
  return op->emitError("needs room for ") << end << " along axis " << axis << ", has " << room;
}

} // namespace

Result evaluateOp(BufferOp op, Operands operands, Evaluator &evaluator) {
  FailureOr<Shape> shape = evaluator.resultShape(op);
  if (failed(shape))
    return failure();
  int64_t axis = op.getAxis(), filled = operands[0].getSize(axis);
  if (filled > (*shape)[axis])
    return refuse(op, filled, (*shape)[axis], axis);
  Result result = evaluator.allocate(op, *shape);
  if (failed(result))
    return failure();
  visitStorage(result->getStorage(), [&](auto *tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    auto values = result->template mutableValues<T>();
    std::fill(values.begin(), values.end(),
              std::numeric_limits<T>::has_quiet_NaN ? std::numeric_limits<T>::quiet_NaN() : T(-1));
  });
  writeRows(operands[0], *result, axis, 0);
  return result;
}

Result evaluateOp(AppendOp op, Operands operands, Evaluator &evaluator) {
  FailureOr<int64_t> start = evaluator.valueOf(op, Dim(op.getStart()));
  if (failed(start))
    return failure();
  HostTensor &buffer = operands[0];
  int64_t axis = op.getAxis(), room = buffer.getSize(axis),
          end = *start + operands[1].getSize(axis);
  if (*start < 0 || end > room)
    return refuse(op, end, room, axis);
  Result result = evaluator.allocate(op, buffer.getShape());
  if (failed(result))
    return failure();
  writeRows(buffer, *result, axis, 0);
  writeRows(operands[1], *result, axis, *start);
  return result;
}

Result evaluateOp(ContentsOp op, Operands operands, Evaluator &evaluator) {
  FailureOr<Shape> shape = evaluator.resultShape(op);
  if (failed(shape))
    return failure();
  for (auto [axis, size] : llvm::enumerate(*shape))
    if (size > operands[0].getSize(axis))
      return refuse(op, size, operands[0].getSize(axis), axis);
  Result result = evaluator.allocate(op, *shape);
  if (succeeded(result))
    copyStrided(operands[0], 0, rowMajorStrides(operands[0].getShape()), *result,
                evaluator.threads);
  return result;
}

} // namespace smelt::interpret
