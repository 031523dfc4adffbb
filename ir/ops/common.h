// Helpers that the op families share: located errors from inference, one adaptor for attribute
// access.
#pragma once

#include "ir/dialect.h"

namespace smelt {

/// Reports a failed inference where a location is known and fails.
template <typename... Parts>
mlir::LogicalResult inferError(std::optional<mlir::Location> location, const Parts &...parts) {
  if (location) {
    mlir::InFlightDiagnostic diagnostic = mlir::emitError(*location);
    ((diagnostic << parts), ...);
  }
  return mlir::failure();
}

/// The tensor types of the operands; fails where one is no smelt tensor.
inline llvm::SmallVector<TensorType> tensorTypes(mlir::ValueRange operands) {
  return llvm::map_to_vector(operands, [](mlir::Value value) { return tensorType(value); });
}

} // namespace smelt
