// Scatters: the data with updates at indexed places, one after the other in the updates' order. An
// index outside [-n, n) is an error at the op.
#include "ir/interpret/evaluator.h"
#include "ir/interpret/strided.h"

using namespace mlir;

namespace smelt::interpret {

namespace {

/// `index` counted from the start; fails where it lies outside an axis of `size` elements.
FailureOr<int64_t> normalizeIndex(Operation *op, int64_t index, int64_t axis, int64_t size) {
  if (index < -size || index >= size)
    return op->emitError("index ") << index << " is outside axis " << axis << " of size " << size
                                   << ", valid are " << -size << " to " << size - 1;
  return index < 0 ? index + size : index;
}

template <typename T> T combine(std::optional<ReductionKind> kind, T old, T update) {
  using Wrapping = std::conditional_t<std::is_same_v<T, int64_t>, uint64_t, T>;
  if (kind == ReductionKind::sum)
    return static_cast<T>(Wrapping(old) + Wrapping(update));
  if (kind == ReductionKind::prod)
    return static_cast<T>(Wrapping(old) * Wrapping(update));
  if (kind == ReductionKind::max)
    return old > update || old != old ? old : update;
  if (kind == ReductionKind::min)
    return old < update || old != old ? old : update;
  return update;
}

/// `updates` as slices of `slice` elements, each to the element `offsets` names and those after it.
Result applyUpdates(Operation *op, std::optional<ReductionKind> kind, HostTensor &data,
                    const HostTensor &updates, ArrayRef<int64_t> offsets, int64_t slice,
                    Evaluator &evaluator) {
  Shape shape(data.getShape());
  HostTensor old = data;
  Result result = evaluator.allocate(op, shape);
  if (failed(result))
    return failure();
  visitStorage(data.getStorage(), [&](auto *tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    MutableArrayRef<T> to = result->template mutableValues<T>();
    llvm::copy(old.values<T>(), to.begin());
    const T *update = updates.values<T>().data();
    for (int64_t offset : offsets)
      for (int64_t i = 0; i < slice; ++i, ++update)
        to[offset + i] = combine(kind, to[offset + i], *update);
  });
  return result;
}

} // namespace

Result evaluateOp(ScatterElementsOp op, Operands operands, Evaluator &evaluator) {
  HostTensor &data = operands[0];
  const HostTensor &indices = operands[1], &updates = operands[2];
  int64_t axis = op.getAxis();
  for (int64_t other = 0; other < data.getRank(); ++other)
    if (other != axis && indices.getSize(other) > data.getSize(other))
      return op.emitError("indices of shape ")
             << toString(indices.getShape()) << " leave data of shape "
             << toString(data.getShape());
  SmallVector<int64_t> dataStrides = rowMajorStrides(data.getShape()),
                       strides = rowMajorStrides(indices.getShape()), offsets;
  for (auto [flat, index] : llvm::enumerate(indices.values<int64_t>())) {
    FailureOr<int64_t> position = normalizeIndex(op, index, axis, data.getSize(axis));
    if (failed(position))
      return failure();
    int64_t at = 0, rest = flat;
    for (size_t other = 0; other < strides.size(); rest %= strides[other], ++other)
      at += (static_cast<int64_t>(other) == axis ? *position : rest / strides[other]) *
            dataStrides[other];
    offsets.push_back(at);
  }
  return applyUpdates(op, op.getReduction(), data, updates, offsets, 1, evaluator);
}

Result evaluateOp(ScatterNdOp op, Operands operands, Evaluator &evaluator) {
  HostTensor &data = operands[0];
  const HostTensor &indices = operands[1], &updates = operands[2];
  int64_t width = indices.getShape().back(), slice = product(data.getShape().drop_front(width)),
          tuples = product(indices.getShape().drop_back());
  SmallVector<int64_t> offsets;
  ArrayRef<int64_t> values = indices.values<int64_t>();
  for (int64_t tuple = 0; tuple < tuples; ++tuple) {
    int64_t offset = 0;
    for (int64_t k = 0; k < width; ++k) {
      FailureOr<int64_t> position =
          normalizeIndex(op, values[tuple * width + k], k, data.getSize(k));
      if (failed(position))
        return failure();
      offset = offset * data.getSize(k) + *position;
    }
    offsets.push_back(offset * slice);
  }
  return applyUpdates(op, op.getReduction(), data, updates, offsets, slice, evaluator);
}

} // namespace smelt::interpret
