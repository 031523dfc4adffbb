// What widens bytes to the numbers that they stand for: computed where they are read, so that kernels
// store and load bytes.
#pragma once

#include "passes/fuse/fusion_group.h"

namespace smelt::passes {

/// `op` computes numbers from bytes, element by element, with nothing else but scales and zero points:
/// literals, or one for each row or column. It costs a kernel no more than the bytes.
bool isDequantization(mlir::Operation *op);

/// A number for each row or for each column of a matrix, or one for all.
bool isRowOrColumn(mlir::Value value);

/// Gives back what `group` computes of bytes that it rounds to where its readers can compute it: the
/// kernel stores the bytes. That is their dequantisation, and where a norm or another reduction of rows
/// reads the result, all that follows. Never one of the first `kept` ops.
void dropDequantization(FusionGroup &group, size_t kept);

/// Draws the dequantisation behind `operand` into `group`, if `accept` takes its ops.
void absorbDequantization(FusionGroup &group, mlir::OpOperand &operand,
                          llvm::function_ref<bool(mlir::Operation *)> accept);

} // namespace smelt::passes
