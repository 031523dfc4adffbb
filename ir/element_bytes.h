// How much memory an element takes: the same in files, on the host and on the device.
#pragma once

#include "mlir/IR/Types.h"

namespace smelt {

/// Bytes of one element; a bool takes one byte.
inline int64_t elementBytes(mlir::Type elementType) {
  return (elementType.getIntOrFloatBitWidth() + 7) / 8;
}

} // namespace smelt
