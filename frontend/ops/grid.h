// Images read between their pixels.
#pragma once

#include "frontend/ops/expression.h"

namespace smelt::frontend {

/// An image [batch, channels, pixels...] at positions along each of its axes, [batch, count] each:
/// [batch, channels, count] in their type. Linear between neighbours; zeros surround the image.
mlir::Value sampleLinear(GraphBuilder &build, mlir::Value image,
                         llvm::ArrayRef<Expression> positions);

} // namespace smelt::frontend
