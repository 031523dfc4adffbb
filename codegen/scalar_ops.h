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

} // namespace smelt::codegen
