// Host side of kernels/pointwise/pointwise.cuh.
#pragma once

#include "codegen/emit_expression.h"
#include "codegen/kernel.h"

namespace smelt::codegen {

/// The kernel of a fusion without reductions: one thread computes a few neighbouring elements of
/// the results, which all have one shape; with `place`, a fusion's one result is a part of a
/// tensor. Reports what cannot be emitted at the op.
mlir::FailureOr<GeneratedKernel> emitPointwise(FusionOp fusion,
                                               std::optional<ResultPlace> place = std::nullopt);

} // namespace smelt::codegen
