// Ops that pick elements by their order.
#include "ir/interpret/evaluator.h"
#include "ir/interpret/strided.h"

#include <algorithm>
#include <numeric>

using namespace mlir;

namespace smelt::interpret {

namespace {

/// NaN is larger than any number.
template <typename T> bool isLess(T a, T b) {
  bool aIsNan = a != a, bIsNan = b != b;
  return aIsNan || bIsNan ? bIsNan && !aIsNan : a < b;
}

/// The positions along a line of `size` elements, `stride` apart, of the first `count` in order.
template <typename T>
std::vector<int64_t> firstPositions(const T *line, int64_t size, int64_t stride, int64_t count,
                                    bool smallest) {
  std::vector<int64_t> positions(size);
  std::iota(positions.begin(), positions.end(), 0);
  auto precedes = [&](int64_t a, int64_t b) {
    T x = line[a * stride], y = line[b * stride];
    bool isFirst = smallest ? isLess(x, y) : isLess(y, x);
    bool isSecond = smallest ? isLess(y, x) : isLess(x, y);
    return isFirst || (!isSecond && a < b);
  };
  std::partial_sort(positions.begin(), positions.begin() + count, positions.end(), precedes);
  positions.resize(count);
  return positions;
}

} // namespace

Results evaluateOp(TopKOp op, Operands operands, Evaluator &evaluator) {
  const HostTensor &input = operands[0];
  FailureOr<Shape> shape = evaluator.resultShape(op);
  if (failed(shape))
    return failure();
  int64_t axis = op.getAxis(), size = input.getSize(axis), count = (*shape)[axis];
  if (count > size)
    return op.emitError("asks for ") << count << " elements of an axis of " << size;
  Result values = evaluator.allocate(op, *shape);
  Result positions = evaluator.allocate(op, *shape, tensorType(op.getPositions()).getElementType());
  if (failed(values) || failed(positions))
    return failure();
  int64_t outer = product(input.getShape().take_front(axis)),
          stride = product(input.getShape().drop_front(axis + 1));
  MutableArrayRef<int64_t> at = positions->mutableValues<int64_t>();
  visitNumbers(input, [&](auto *tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    MutableArrayRef<T> to = values->template mutableValues<T>();
    evaluator.threads.parallelFor(outer * stride, 1, [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line) {
        int64_t inner = line % stride;
        const T *from = input.values<T>().data() + line / stride * size * stride + inner;
        int64_t target = line / stride * count * stride + inner;
        for (int64_t position : firstPositions(from, size, stride, count, op.getSmallest())) {
          to[target] = from[position * stride];
          at[target] = position;
          target += stride;
        }
      }
    });
  });
  return SmallVector<HostTensor>{std::move(*values), std::move(*positions)};
}

} // namespace smelt::interpret
