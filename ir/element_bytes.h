// How much memory an element takes: the same in files, on the host and on the device.
#pragma once

#include "mlir/IR/BuiltinTypes.h"

namespace smelt {

/// Bytes of one element; a bool takes one byte.
inline int64_t elementBytes(mlir::Type elementType) {
  return (elementType.getIntOrFloatBitWidth() + 7) / 8;
}

/// Floats of 8 bits that products take, whose sums are f32.
inline bool isFloat8Operand(mlir::Type elementType) {
  return mlir::isa<mlir::Float8E4M3FNType, mlir::Float8E5M2Type>(elementType);
}

} // namespace smelt
