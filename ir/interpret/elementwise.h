// The scalar meaning of elementwise ops, as loops over contiguous runs.
#pragma once

#include "ir/dialect.h"
#include "ir/interpret/host_tensor.h"

#include <cstdint>
#include <utility>

namespace smelt::interpret {

/// `output[i] = f(input[i])`; in place where both pointers are the same.
template <typename T> using UnaryLoop = void (*)(const T *input, T *output, int64_t count);

/// `output[i] = f(lhs[i * lhsStride], rhs[i * rhsStride])`, strides 0 or 1; the output may be one
/// of the operands.
template <typename T, typename Out>
using BinaryLoop = void (*)(const T *lhs, int64_t lhsStride, const T *rhs, int64_t rhsStride,
                            Out *output, int64_t count);

// T is the storage, float, double or int64_t, or uint64_t for integers of 64 bits without sign
// (visitNumbers). Null where the op has no meaning for it.
template <typename T> UnaryLoop<T> unaryLoop(mlir::Operation *op);
template <typename T> BinaryLoop<T, T> arithmeticLoop(mlir::Operation *op);
template <typename T> BinaryLoop<T, int64_t> comparisonLoop(mlir::Operation *op);
template <> UnaryLoop<float> unaryLoop(mlir::Operation *op);
template <> UnaryLoop<double> unaryLoop(mlir::Operation *op);
template <> UnaryLoop<int64_t> unaryLoop(mlir::Operation *op);
template <> UnaryLoop<uint64_t> unaryLoop(mlir::Operation *op);
template <> BinaryLoop<float, float> arithmeticLoop(mlir::Operation *op);
template <> BinaryLoop<double, double> arithmeticLoop(mlir::Operation *op);
template <> BinaryLoop<int64_t, int64_t> arithmeticLoop(mlir::Operation *op);
template <> BinaryLoop<uint64_t, uint64_t> arithmeticLoop(mlir::Operation *op);

/// Whether a cast between types of the same storage is more than a change of name.
bool castChangesValues(mlir::Type from, mlir::Type to);
/// From a value declared `from` to one declared `to`. Floats that an integer type cannot hold
/// become its nearest value, NaN becomes 0; integers wrap around; 16-bit floats are rounded to
/// nearest even.
template <typename From, typename To>
void castLoop(mlir::Type from, mlir::Type to, const From *input, To *output, int64_t count);

/// Least and largest value of an integer type, as it is held.
std::pair<int64_t, int64_t> integerRange(mlir::Type type);
/// `value` modulo the width of an integer type.
int64_t wrapInteger(mlir::Type type, int64_t value);
/// All values of an integer tensor; no other is changed.
void wrapIntegers(HostTensor &tensor);

} // namespace smelt::interpret
