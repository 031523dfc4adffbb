// What one element of an elementwise op is, in CUDA: the one table from op to text.
#pragma once

#include "ir/dialect.h"

namespace smelt::codegen {

/// The expression that computes one element of the result of `op`, an elementwise op, from one
/// element of each operand. Operands are primary expressions of the compute types of their
/// elements; so is the result's value. Results in 16-bit floats use the approximations of
/// device/math.cuh. Reports at `op` where the element type has no such operation.
mlir::FailureOr<std::string> scalarExpression(mlir::Operation *op,
                                              llvm::ArrayRef<std::string> operands);

/// Whether an elementwise op takes an instruction for each element of floats, or two or three, as what quantises does.
bool isFewInstructions(mlir::Operation *op);

/// The value is only rounded to few multiples of a number, of at least `leastStep`, as where it is quantised:
/// an approximation does, of which the error is small beside that, or beside a step of a byte's range.
bool needsNoExactness(mlir::Value value, double leastStep);

/// What a cast to bytes rounds, of numbers that were clipped, and the zero point that it adds: computed
/// as one it takes half the instructions.
struct ByteRounding {
  mlir::Value input;
  int added;
};
std::optional<ByteRounding> byteRounding(mlir::Operation *op);

/// Where such a cast adds no zero point: what becomes the same bytes when it is rounded and saturated, its clipping left out.
std::optional<mlir::Value> saturatedInput(mlir::Operation *op);

/// The expression of such a cast, from one element of what it rounds.
std::string roundingExpression(mlir::Operation *op, const ByteRounding &rounding,
                               const std::string &operand);

} // namespace smelt::codegen
