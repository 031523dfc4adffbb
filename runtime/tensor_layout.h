// How the caller's memory of an input or output is laid out: row-major, and along the axis that may
// grow with room for more than there is.
#pragma once

#include "runtime/shape_program.h"

namespace smelt::runtime {

/// `rows` pieces of `rowBytes` bytes, `pitch` bytes apart.
struct TensorLayout {
  uint64_t rows = 1, rowBytes = 0, pitch = 0;

  bool isDense() const { return rows <= 1 || rowBytes == pitch; }
  /// From the first byte to the end of the room behind the last row.
  uint64_t bytes() const { return rows * pitch; }
};

/// The layout of a tensor of which the extents of the axes from `axis` on make one row, with room for
/// `capacity` along `axis`; 0: for no more than there is. Fails with kUsage when the bytes exceed 63
/// bits, or when the capacity is less than the extent.
Result<TensorLayout> layoutOf(const plan::TensorT &tensor, const ShapeValues &values, size_t axis,
                              int64_t capacity);

} // namespace smelt::runtime
