// Moments of rows, taken in groups and put together again (Chan, Golub and LeVeque 1983).
#include "ir/interpret/evaluator.h"
#include "ir/interpret/rows.h"
#include "ir/interpret/strided.h"

using namespace mlir;

namespace smelt::interpret {

namespace {

/// Elements that one thread takes at least.
constexpr int64_t kMomentsGrain = 8192;

struct RowStatistics {
  double mean, variance;
};

/// Of a row of `groups` pairs (mean, sum of squared deviations), each of kGroup elements.
template <typename T> RowStatistics combine(const T *row, int64_t groups) {
  double mean = 0, squares = 0;
  for (int64_t i = 0; i < groups; ++i)
    mean += row[2 * i];
  mean /= static_cast<double>(groups);
  for (int64_t i = 0; i < groups; ++i) {
    double distance = row[2 * i] - mean;
    squares += row[2 * i + 1] + RowMomentsOp::kGroup * distance * distance;
  }
  return {mean, squares / static_cast<double>(groups * RowMomentsOp::kGroup)};
}

/// One number for each row of moments.
Result evaluateRows(Operation *op, const HostTensor &input, Evaluator &evaluator,
                    llvm::function_ref<double(RowStatistics)> number) {
  Shape shape(input.getShape());
  int64_t groups = shape[shape.size() - 2];
  shape.pop_back();
  shape.back() = 1;
  Result result = evaluator.allocate(op, shape);
  if (failed(result))
    return failure();
  visitStorage(input.getStorage(), [&](auto *tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    const T *from = input.values<T>().data();
    T *to = result->template mutableValues<T>().data();
    for (int64_t row = 0; row < result->getNumElements(); ++row)
      to[row] = static_cast<T>(number(combine(from + row * groups * 2, groups)));
  });
  return result;
}

double inverseRoot(double spread, const APFloat &epsilon) {
  return 1.0 / std::sqrt(spread + epsilon.convertToFloat());
}

double inverseDeviation(double variance, const APFloat &epsilon) {
  return variance == 0 && !epsilon.isZero() ? 0.0 : inverseRoot(variance, epsilon);
}

} // namespace

Result evaluateOp(RowMomentsOp op, Operands operands, Evaluator &evaluator) {
  const HostTensor &input = operands[0];
  constexpr int64_t kGroup = RowMomentsOp::kGroup;
  Shape shape(input.getShape());
  shape.back() /= kGroup;
  shape.push_back(2);
  Result result = evaluator.allocate(op, shape);
  if (failed(result))
    return failure();
  return visitStorage(input.getStorage(), [&](auto *tag) -> Result {
    using T = std::remove_pointer_t<decltype(tag)>;
    if constexpr (std::is_same_v<T, int64_t>) {
      return op.emitError("is not defined for element type ") << input.getElementType();
    } else {
      const T *from = input.values<T>().data();
      T *to = result->template mutableValues<T>().data();
      evaluator.threads.parallelFor(input.getNumElements() / kGroup, kMomentsGrain / kGroup,
                                    [&](int64_t begin, int64_t end) {
                                      for (int64_t group = begin; group < end; ++group) {
                                        double mean, variance;
                                        moments(from + group * kGroup, kGroup, mean, variance);
                                        to[2 * group] = static_cast<T>(mean);
                                        to[2 * group + 1] = static_cast<T>(variance * kGroup);
                                      }
                                    });
      return result;
    }
  });
}

Result evaluateOp(MomentsMeanOp op, Operands operands, Evaluator &evaluator) {
  return evaluateRows(op, operands[0], evaluator, [](RowStatistics row) { return row.mean; });
}

Result evaluateOp(MomentsRstdOp op, Operands operands, Evaluator &evaluator) {
  return evaluateRows(op, operands[0], evaluator, [&](RowStatistics row) {
    return inverseDeviation(row.variance, op.getEpsilon());
  });
}

Result evaluateOp(MomentsRrmsOp op, Operands operands, Evaluator &evaluator) {
  return evaluateRows(op, operands[0], evaluator, [&](RowStatistics row) {
    return inverseRoot(row.variance + row.mean * row.mean, op.getEpsilon());
  });
}

} // namespace smelt::interpret
