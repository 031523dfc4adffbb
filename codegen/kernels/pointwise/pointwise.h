// Host side of kernels/pointwise/pointwise.cuh.
#pragma once

#include "codegen/kernel.h"

namespace smelt::codegen {

/// The kernel of a fusion without reductions: one thread computes a few neighbouring elements of
/// the results, which all have one shape. Reports what cannot be emitted at the op.
mlir::FailureOr<GeneratedKernel> emitPointwise(FusionOp fusion);

} // namespace smelt::codegen
