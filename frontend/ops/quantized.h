// Quantised tensors: an element q stands for scale * (q - zero point).
#pragma once

#include "frontend/node_reader.h"
#include "frontend/ops/cast.h"

namespace smelt::frontend {

mlir::Type int32(GraphBuilder &build);
mlir::Type float32(GraphBuilder &build);

/// The value of all elements of an integer constant; none for others.
std::optional<int64_t> uniformValue(mlir::Value value);

/// The nearest values of a quantised type, where `scaled` is in float32 and the zero point, which may
/// be null, broadcasts with it.
mlir::Value quantizeTo(GraphBuilder &build, mlir::Value scaled, mlir::Value zeroPoint,
                       mlir::Type type, CastRules rules = {});

/// Bytes without sign whose range is that of the data and 0; the scale of zeros alone is 1. All are
/// null after a report.
struct DynamicallyQuantized {
  mlir::Value values, scale, zeroPoint;
};
DynamicallyQuantized quantizeDynamically(GraphBuilder &build, mlir::Value input);

} // namespace smelt::frontend
