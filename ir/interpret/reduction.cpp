// Reductions, softmax, norms and running sums. Sums are accumulated in double.
#include "ir/interpret/elementwise.h"
#include "ir/interpret/evaluator.h"
#include "ir/interpret/rows.h"
#include "ir/interpret/strided.h"

#include <numeric>

using namespace mlir;

namespace smelt::interpret {

namespace {

/// Elements that one thread takes at least.
constexpr int64_t kReductionGrain = 8192;

int64_t rowGrain(int64_t rowElements) {
  return std::max<int64_t>(kReductionGrain / std::max<int64_t>(rowElements, 1), 1);
}

/// A tensor seen as [outer, size, inner] around one axis.
struct AroundAxis {
  int64_t outer, size, inner;

  AroundAxis(ArrayRef<int64_t> shape, int64_t axis)
      : outer(product(shape.take_front(axis))), size(shape[axis]),
        inner(product(shape.drop_front(axis + 1))) {}
};

template <typename T>
using Accumulator = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;

/// A sum of `count` numbers, or their mean.
template <typename T> T finishSum(ReductionKind kind, Accumulator<T> sum, int64_t count) {
  if (kind == ReductionKind::sum)
    return static_cast<T>(sum);
  if constexpr (std::is_integral_v<T>)
    return count ? static_cast<T>(sum) / static_cast<T>(count) : 0;
  else
    return static_cast<T>(sum / static_cast<double>(count));
}

/// What a maximum or minimum of nothing yields.
template <typename T> T emptyExtreme(ReductionKind kind, Type type) {
  bool larger = kind == ReductionKind::max;
  if constexpr (std::is_integral_v<T>) {
    auto [least, largest] = integerRange(type);
    return static_cast<T>(larger ? least : largest);
  } else {
    return larger ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
  }
}

/// `type` is the declared one of the elements.
template <typename T> T reduceRow(ReductionKind kind, Type type, const T *row, int64_t count) {
  switch (kind) {
  case ReductionKind::sum:
  case ReductionKind::mean:
    return finishSum<T>(kind, std::accumulate(row, row + count, Accumulator<T>(0), std::plus<>()),
                        count);
  case ReductionKind::prod:
    return static_cast<T>(
        std::accumulate(row, row + count, Accumulator<T>(1), std::multiplies<>()));
  case ReductionKind::max:
  case ReductionKind::min: {
    T extreme = emptyExtreme<T>(kind, type);
    bool larger = kind == ReductionKind::max;
    // NaN, where there is one, is the result.
    for (int64_t i = 0; i < count; ++i)
      extreme =
          (larger ? row[i] > extreme : row[i] < extreme) || row[i] != row[i] ? row[i] : extreme;
    return extreme;
  }
  }
  llvm_unreachable("every kind has returned");
}

/// The input with the reduced axes last, so that each reduction is over one row.
Result moveLast(ReduceOp op, const HostTensor &input, const llvm::SmallBitVector &reduced,
                Evaluator &evaluator) {
  int firstReduced = reduced.find_first(), lastKept = -1;
  SmallVector<int64_t> strides = rowMajorStrides(input.getShape()), order;
  for (bool wanted : {false, true})
    for (int64_t axis = 0; axis < input.getRank(); ++axis)
      if (reduced[axis] == wanted)
        order.push_back(axis);
  for (int64_t axis = 0; axis < input.getRank(); ++axis)
    if (!reduced[axis] && input.getSize(axis) != 1)
      lastKept = axis;
  if (firstReduced < 0 || lastKept < firstReduced)
    return input;
  Shape shape;
  SmallVector<int64_t> ordered;
  for (int64_t axis : order) {
    shape.push_back(input.getSize(axis));
    ordered.push_back(strides[axis]);
  }
  Result moved = evaluator.allocate(op, shape);
  if (succeeded(moved))
    copyStrided(input, 0, ordered, *moved, evaluator.threads);
  return moved;
}

/// Sums or means over the rows of a matrix, in memory's order: no column is gathered.
template <typename T>
void sumRows(ReductionKind kind, const T *from, int64_t rows, int64_t columns, T *to,
             ThreadPool &threads) {
  constexpr int64_t kBlock = 256;
  threads.parallelFor(columns, kBlock, [&](int64_t begin, int64_t end) {
    for (int64_t first = begin; first < end; first += kBlock) {
      int64_t count = std::min(kBlock, end - first);
      Accumulator<T> sums[kBlock] = {};
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t i = 0; i < count; ++i)
          sums[i] += static_cast<Accumulator<T>>(from[row * columns + first + i]);
      for (int64_t i = 0; i < count; ++i)
        to[first + i] = finishSum<T>(kind, sums[i], rows);
    }
  });
}

/// The reduced axes are the leading ones, and not all.
bool reducesLeading(const llvm::SmallBitVector &reduced) {
  return reduced.any() && !reduced.all() &&
         reduced.find_last() + 1 == static_cast<int>(reduced.count());
}

/// Runs `body(row, column of values)` over [outer, size, inner] with each column gathered into
/// contiguous memory and, after `body` has changed it, scattered into the result.
template <typename T, typename Body>
void forColumns(const AroundAxis &around, const T *from, T *to, ThreadPool &threads, Body body) {
  threads.parallelFor(
      around.outer * around.inner, rowGrain(around.size), [&](int64_t begin, int64_t end) {
        std::vector<T> column(around.size);
        for (int64_t index = begin; index < end; ++index) {
          int64_t offset = index / around.inner * around.size * around.inner + index % around.inner;
          for (int64_t i = 0; i < around.size; ++i)
            column[i] = from[offset + i * around.inner];
          body(column.data());
          for (int64_t i = 0; i < around.size; ++i)
            to[offset + i * around.inner] = column[i];
        }
      });
}

/// A norm's scale or bias as one value a column; fails where it does not fit the normalised axes.
FailureOr<HostTensor> normOperand(Operation *op, const HostTensor &operand,
                                  ArrayRef<int64_t> normalized, Evaluator &evaluator) {
  if (operand.getNumElements() == product(normalized))
    return operand;
  SmallVector<int64_t> strides(normalized.size(), 0);
  if (operand.getNumElements() != 1)
    return op->emitError("scale or bias of shape ")
           << toString(operand.getShape()) << " does not fit the normalised axes "
           << toString(normalized);
  Result expanded = evaluator.allocate(op, normalized);
  if (succeeded(expanded))
    copyStrided(operand, 0, strides, *expanded, evaluator.threads);
  return expanded;
}

struct NormAttributes {
  int64_t axis;
  double epsilon;
  bool centered; // layer norm; RMS norm does not subtract the mean
};

template <typename T>
void normalizeRows(const T *from, const T *scale, const T *bias, const NormAttributes &attributes,
                   int64_t rows, int64_t columns, T *to, ThreadPool &threads) {
  threads.parallelFor(rows, rowGrain(columns), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      double mean, variance;
      moments(from + row * columns, columns, mean, variance);
      double spread = attributes.centered ? variance : variance + mean * mean;
      normalizeRow(from + row * columns, scale, bias, attributes.centered ? mean : 0.0,
                   1.0 / std::sqrt(spread + attributes.epsilon), to + row * columns, columns);
    }
  });
}

/// `scale` and `bias` are operand positions, 0 where absent.
Result evaluateNorm(Operation *op, Operands operands, unsigned scale, unsigned bias,
                    const NormAttributes &attributes, Evaluator &evaluator) {
  Shape shape(operands[0].getShape());
  ArrayRef<int64_t> normalized = ArrayRef(shape).drop_front(attributes.axis);
  for (unsigned index : {scale, bias}) {
    if (index == 0)
      continue;
    FailureOr<HostTensor> fitted = normOperand(op, operands[index], normalized, evaluator);
    if (failed(fitted))
      return failure();
    operands[index] = fitted->withStorage(operands[0].getStorage());
  }
  Storage storage = operands[0].getStorage();
  if (storage == Storage::i64)
    return op->emitError("is not defined for element type ") << operands[0].getElementType();
  int64_t rows = product(ArrayRef(shape).take_front(attributes.axis)),
          columns = product(normalized);
  return visitStorage(storage, [&](auto *tag) -> Result {
    using T = std::remove_pointer_t<decltype(tag)>;
    if constexpr (std::is_same_v<T, int64_t>) {
      return failure();
    } else {
      const T *from = operands[0].values<T>().data();
      const T *scales = scale ? operands[scale].values<T>().data() : nullptr;
      const T *biases = bias ? operands[bias].values<T>().data() : nullptr;
      Result result = evaluator.reuseOrAllocate(op, shape, operands[0]);
      if (succeeded(result))
        normalizeRows(from, scales, biases, attributes, rows, columns,
                      result->template mutableValues<T>().data(), evaluator.threads);
      return result;
    }
  });
}

/// Replaces each value by that of all up to it, combined one after the other from `start` on.
template <typename T, typename Combine, typename Op>
void cumulate(Op op, T *values, int64_t count, Accumulator<T> start, Combine combine) {
  for (int64_t step = 0; step < count; ++step) {
    T &value = values[op.getReverse() ? count - 1 - step : step];
    Accumulator<T> next = combine(start, static_cast<Accumulator<T>>(value));
    value = static_cast<T>(op.getExclusive() ? start : next);
    start = next;
  }
}

template <typename Op, typename Combine>
Result evaluateRunning(Op op, HostTensor &input, int start, Combine combine, Evaluator &evaluator) {
  Shape shape(input.getShape());
  AroundAxis around(shape, op.getAxis());
  Result result = visitStorage(input.getStorage(), [&](auto *tag) -> Result {
    using T = std::remove_pointer_t<decltype(tag)>;
    const T *from = input.values<T>().data();
    Result running = evaluator.reuseOrAllocate(op, shape, input);
    if (succeeded(running))
      forColumns(
          around, from, running->template mutableValues<T>().data(), evaluator.threads,
          [&](T *column) { cumulate(op, column, around.size, Accumulator<T>(start), combine); });
    return running;
  });
  if (succeeded(result))
    wrapIntegers(*result);
  return result;
}

} // namespace

Result evaluateOp(ReduceOp op, Operands operands, Evaluator &evaluator) {
  const HostTensor &input = operands[0];
  Shape shape(input.getShape());
  llvm::SmallBitVector reduced(input.getRank());
  int64_t size = 1;
  for (int64_t axis : op.getAxes()) {
    size *= reduced[axis] ? 1 : input.getSize(axis);
    shape[axis] = 1;
    reduced.set(axis);
  }
  Result result = evaluator.allocate(op, shape);
  if (failed(result))
    return failure();
  bool isSum = op.getKind() == ReductionKind::sum || op.getKind() == ReductionKind::mean;
  if (isSum && reducesLeading(reduced)) {
    visitNumbers(input, [&](auto *tag) {
      using T = std::remove_pointer_t<decltype(tag)>;
      sumRows(op.getKind(), input.values<T>().data(), size, result->getNumElements(),
              result->template mutableValues<T>().data(), evaluator.threads);
    });
    wrapIntegers(*result);
    return result;
  }
  Result rows = moveLast(op, input, reduced, evaluator);
  if (failed(rows))
    return failure();
  Type type = input.getElementType();
  visitNumbers(input, [&](auto *tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    const T *from = rows->template values<T>().data();
    T *to = result->template mutableValues<T>().data();
    evaluator.threads.parallelFor(
        result->getNumElements(), rowGrain(size), [&](int64_t begin, int64_t end) {
          for (int64_t row = begin; row < end; ++row)
            to[row] = reduceRow(op.getKind(), type, from + row * size, size);
        });
  });
  wrapIntegers(*result);
  return result;
}

Result evaluateOp(SoftmaxOp op, Operands operands, Evaluator &evaluator) {
  Shape shape(operands[0].getShape());
  AroundAxis around(shape, op.getAxis());
  return visitStorage(operands[0].getStorage(), [&](auto *tag) -> Result {
    using T = std::remove_pointer_t<decltype(tag)>;
    if constexpr (std::is_same_v<T, int64_t>) {
      return op.emitError("is not defined for element type ") << operands[0].getElementType();
    } else {
      const T *from = operands[0].values<T>().data();
      Result result = evaluator.reuseOrAllocate(op, shape, operands[0]);
      if (succeeded(result))
        forColumns(around, from, result->template mutableValues<T>().data(), evaluator.threads,
                   [&](T *column) { softmaxRow(column, around.size); });
      return result;
    }
  });
}

Result evaluateOp(LayerNormOp op, Operands operands, Evaluator &evaluator) {
  unsigned scale = op.getScale() ? 1 : 0, bias = op.getBias() ? scale + 1 : 0;
  return evaluateNorm(op, operands, scale, bias,
                      {static_cast<int64_t>(op.getAxis()), op.getEpsilon().convertToFloat(), true},
                      evaluator);
}

Result evaluateOp(RmsNormOp op, Operands operands, Evaluator &evaluator) {
  return evaluateNorm(op, operands, op.getScale() ? 1 : 0, 0,
                      {static_cast<int64_t>(op.getAxis()), op.getEpsilon().convertToFloat(), false},
                      evaluator);
}

Result evaluateOp(CumsumOp op, Operands operands, Evaluator &evaluator) {
  return evaluateRunning(op, operands[0], 0, std::plus<>(), evaluator);
}

Result evaluateOp(CumprodOp op, Operands operands, Evaluator &evaluator) {
  return evaluateRunning(op, operands[0], 1, std::multiplies<>(), evaluator);
}

} // namespace smelt::interpret
