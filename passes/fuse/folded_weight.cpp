// Method: rounding a product that is a normal number of its type errs by at most u times it, u the
// type's unit roundoff (2^-11 for f16); rounding a subnormal one by at most d, half the least
// subnormal. So the error of a column c of K products is at most sqrt(u^2 ||c||^2 + K d^2), which
// is no more than 4 u ||c|| where ||c||^2 >= K d^2 / (15 u^2). Subtracting the column's mean makes
// no column longer, and at most doubles its largest magnitude. It takes one pass over the weights,
// as they lie in their file, for the sum of squares and the largest magnitude of each column.
#include "passes/fuse/folded_weight.h"

#include "ir/interpret/half.h"
#include "ir/interpret/simd.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <cstring>

using namespace mlir;

namespace smelt::passes {

namespace {

/// Columns that one thread takes at least, and most that it takes at a time.
constexpr int64_t kColumns = 256;

/// `count` elements, at most kColumns, of a weight as it lies in memory (at any alignment), from
/// element `start` on.
void readFloats(const char *bytes, Type type, int64_t start, int64_t count, float *values) {
  if (type.isF32()) {
    std::memcpy(values, bytes + start * sizeof(float), count * sizeof(float));
    return;
  }
  uint16_t halves[kColumns];
  std::memcpy(halves, bytes + start * sizeof(uint16_t), count * sizeof(uint16_t));
  if (type.isF16())
    interpret::simdKernels().halfToFloat(halves, values, count);
  else
    std::transform(halves, halves + count, values, bfloat16ToFloat);
}

/// The squared norm of a column of `rows` products from which on rounding keeps its digits.
double leastSquaredNorm(int64_t rows, const llvm::fltSemantics &semantics) {
  double unit = std::ldexp(1.0, -static_cast<int>(llvm::APFloat::semanticsPrecision(semantics)));
  double step = llvm::APFloat::getSmallest(semantics).convertToDouble() / 2;
  double least = static_cast<double>(rows) * step * step / (15 * unit * unit);
  return std::max(least, 1e-30); // squares of less than that are lost in fp32
}

/// `readRow(row, first column, count, values)` yields weights.
bool columnsKeepDigits(ArrayRef<float> scale, int64_t columns, Type type, ThreadPool &threads,
                       llvm::function_ref<void(int64_t, int64_t, int64_t, float *)> readRow) {
  const llvm::fltSemantics &semantics = cast<FloatType>(type).getFloatSemantics();
  double least = leastSquaredNorm(scale.size(), semantics),
         most = llvm::APFloat::getLargest(semantics).convertToDouble() / 2;
  std::atomic<bool> keep = true;
  auto scan = [&](int64_t first, int64_t count) {
    float row[kColumns], squares[kColumns] = {}, largest[kColumns] = {};
    for (auto [index, factor] : llvm::enumerate(scale)) {
      readRow(index, first, count, row);
      for (int64_t i = 0; i < count; ++i) {
        float magnitude = std::abs(row[i] * factor);
        squares[i] += magnitude * magnitude;
        largest[i] = magnitude > largest[i] ? magnitude : largest[i];
      }
    }
    // Written so that NaN does not pass; a column of zeros does.
    for (int64_t i = 0; i < count; ++i)
      if (!(squares[i] == 0 && largest[i] == 0) && !(squares[i] >= least && largest[i] <= most))
        keep = false;
  };
  threads.parallelFor(columns, kColumns, [&](int64_t begin, int64_t end) {
    for (int64_t first = begin; first < end; first += kColumns)
      scan(first, std::min(kColumns, end - first));
  });
  return keep;
}

} // namespace

bool FoldedWeights::keepDigits(Value scale, Value weight) {
  if (!weights)
    return true;
  if (!threads)
    threads.emplace(0);
  if (!scale)
    return keepDigits(std::vector<float>(*tensorType(weight).getDim(0).asConstant(), 1), weight);
  std::optional<HostTensor> factors = valueOf(scale);
  return !factors || keepDigits(factors->withStorage(Storage::f32).values<float>(), weight);
}

bool FoldedWeights::keepDigits(ArrayRef<float> scale, Value weight) {
  if (auto concat = weight.getDefiningOp<ConcatOp>(); concat && concat.getAxis() == 1)
    return llvm::all_of(concat.getInputs(), [&](Value input) { return keepDigits(scale, input); });
  Type type = tensorType(weight).getElementType();
  int64_t columns = *tensorType(weight).getDim(1).asConstant();
  if (auto op = weight.getDefiningOp<WeightOp>()) {
    ScopedDiagnosticHandler silence(op.getContext(), [](Diagnostic &) { return success(); });
    FailureOr<ArrayRef<char>> bytes = weights->bytes(op);
    return failed(bytes) ||
           columnsKeepDigits(scale, columns, type, *threads,
                             [&](int64_t row, int64_t first, int64_t count, float *values) {
                               readFloats(bytes->data(), type, row * columns + first, count,
                                          values);
                             });
  }
  std::optional<HostTensor> tensor = valueOf(weight);
  return !tensor ||
         columnsKeepDigits(scale, columns, type, *threads,
                           [&](int64_t row, int64_t first, int64_t count, float *values) {
                             std::copy_n(tensor->values<float>().data() + row * columns + first,
                                         count, values);
                           });
}

std::optional<HostTensor> FoldedWeights::valueOf(Value value) {
  ScopedDiagnosticHandler silence(value.getContext(), [](Diagnostic &) { return success(); });
  EvaluateOptions options;
  options.weights = weights;
  FailureOr<HostTensor> tensor = evaluate(value, KnownValues(), Symbols(), options);
  return failed(tensor) ? std::nullopt : std::optional(std::move(*tensor));
}

} // namespace smelt::passes
