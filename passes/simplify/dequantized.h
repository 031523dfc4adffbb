// Tensors of bytes as the numbers that they stand for, scale * (bytes - zero point), found behind a
// value. Bytes are integers, or floats of 8 bits (ir/element_bytes.h, isFloat8Operand).
#pragma once

#include "ir/dialect.h"

#include "mlir/IR/Builders.h"

namespace smelt::passes {

/// What DequantizeLinear computes. Zero point and scale broadcast with the bytes.
struct Dequantized {
  mlir::Value bytes; ///< i8, ui8, f8E4M3FN or f8E5M2
  mlir::Value zero;  ///< f32; null where it is 0
  mlir::Value scale; ///< f32
};

/// What may surround a tensor: zeros, which are its zero point, or -infinity, which is no more than its
/// lowest byte where that is one of several whose largest is sought.
enum class Surrounding { zeros, lowest };

/// The operand that `concat` surrounds; none where it is no surrounding.
std::optional<unsigned> surroundedOperand(ConcatOp concat, Surrounding surrounding);

/// `value` as a tensor of bytes: through views, through what surrounds a tensor, and through a rounding to
/// 16 bits, which falls away. What the views are of bytes is built; none where `value` is no such tensor,
/// or where a view spreads a scale so that it no longer broadcasts.
std::optional<Dequantized> findDequantized(mlir::OpBuilder &builder, mlir::Value value,
                                           Surrounding surrounding = Surrounding::zeros);

/// `factor`, one number for all elements of a tensor or one for each along some of its axes, has only one
/// along the axis that is `fromEnd` from the last.
bool isConstantAlong(mlir::Value factor, unsigned fromEnd);

} // namespace smelt::passes
