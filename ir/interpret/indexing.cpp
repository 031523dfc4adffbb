// Gathers. An index outside [-n, n) is an error at the op.
#include "ir/interpret/evaluator.h"
#include "ir/interpret/strided.h"

#include <cstring>

using namespace mlir;

namespace smelt::interpret {

namespace {

/// The indices counted from the start; fails where one lies outside an axis of `size` elements.
FailureOr<SmallVector<int64_t>> normalizeIndices(Operation *op, const HostTensor &indices,
                                                 int64_t axis, int64_t size) {
  SmallVector<int64_t> positions(indices.values<int64_t>());
  for (int64_t &position : positions) {
    if (position < -size || position >= size)
      return op->emitError("index ") << position << " is outside axis " << axis << " of size "
                                     << size << ", valid are " << -size << " to " << size - 1;
    position += position < 0 ? size : 0;
  }
  return positions;
}

} // namespace

Result evaluateOp(GatherOp op, Operands operands, Evaluator &evaluator) {
  const HostTensor &data = operands[0];
  int64_t axis = op.getAxis(), size = data.getSize(axis);
  FailureOr<SmallVector<int64_t>> positions = normalizeIndices(op, operands[1], axis, size);
  if (failed(positions))
    return failure();
  Shape shape(data.getShape().take_front(axis));
  llvm::append_range(shape, operands[1].getShape());
  llvm::append_range(shape, data.getShape().drop_front(axis + 1));
  Result result = evaluator.allocate(op, shape);
  if (failed(result))
    return failure();
  int64_t outer = product(data.getShape().take_front(axis)),
          row = product(data.getShape().drop_front(axis + 1));
  visitStorage(data.getStorage(), [&](auto *tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    const T *from = data.values<T>().data();
    T *to = result->template mutableValues<T>().data();
    for (int64_t index = 0; index < outer; ++index, from += size * row)
      for (int64_t position : *positions)
        to = std::copy_n(from + position * row, row, to);
  });
  return result;
}

Result evaluateOp(GatherElementsOp op, Operands operands, Evaluator &evaluator) {
  const HostTensor &data = operands[0], &indices = operands[1];
  int64_t axis = op.getAxis();
  for (int64_t other = 0; other < data.getRank(); ++other)
    if (other != axis && indices.getSize(other) > data.getSize(other))
      return op.emitError("indices of shape ")
             << toString(indices.getShape()) << " leave data of shape "
             << toString(data.getShape());
  FailureOr<SmallVector<int64_t>> positions =
      normalizeIndices(op, indices, axis, data.getSize(axis));
  if (failed(positions))
    return failure();
  Result result = evaluator.allocate(op, indices.getShape());
  if (failed(result))
    return failure();
  SmallVector<int64_t> dataStrides = rowMajorStrides(data.getShape()),
                       strides = rowMajorStrides(indices.getShape());
  visitStorage(data.getStorage(), [&](auto *tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    ArrayRef<T> from = data.values<T>();
    MutableArrayRef<T> to = result->template mutableValues<T>();
    for (auto [flat, position] : llvm::enumerate(*positions)) {
      int64_t at = 0, rest = flat;
      for (size_t other = 0; other < strides.size(); rest %= strides[other], ++other)
        at += (static_cast<int64_t>(other) == axis ? position : rest / strides[other]) *
              dataStrides[other];
      to[flat] = from[at];
    }
  });
  return result;
}

Result evaluateOp(GatherNdOp op, Operands operands, Evaluator &evaluator) {
  const HostTensor &data = operands[0], &indices = operands[1];
  int64_t batchDims = op.getBatchDims(), width = indices.getShape().back();
  if (data.getShape().take_front(batchDims) != indices.getShape().take_front(batchDims))
    return op.emitError("data ") << toString(data.getShape()) << " and indices "
                                 << toString(indices.getShape()) << " differ in their " << batchDims
                                 << " batch axes";
  Shape shape(indices.getShape().drop_back());
  llvm::append_range(shape, data.getShape().drop_front(batchDims + width));
  Result result = evaluator.allocate(op, shape);
  if (failed(result))
    return failure();
  ArrayRef<int64_t> indexed = data.getShape().slice(batchDims, width),
                    values = indices.values<int64_t>();
  int64_t batches = product(data.getShape().take_front(batchDims)),
          slice = product(data.getShape().drop_front(batchDims + width));
  int64_t tuples = product(indices.getShape().drop_front(batchDims).drop_back()),
          batchSize = product(indexed) * slice;
  SmallVector<int64_t> offsets;
  for (int64_t tuple = 0; tuple < batches * tuples; ++tuple) {
    int64_t offset = 0;
    for (int64_t k = 0; k < width; ++k) {
      int64_t index = values[tuple * width + k], size = indexed[k];
      if (index < -size || index >= size)
        return op.emitError("index ")
               << index << " is outside axis " << batchDims + k << " of size " << size;
      offset = offset * size + (index < 0 ? index + size : index);
    }
    offsets.push_back(tuple / tuples * batchSize + offset * slice);
  }
  visitStorage(data.getStorage(), [&](auto *tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    const T *from = data.values<T>().data();
    T *to = result->template mutableValues<T>().data();
    for (int64_t offset : offsets)
      to = std::copy_n(from + offset, slice, to);
  });
  return result;
}

} // namespace smelt::interpret
