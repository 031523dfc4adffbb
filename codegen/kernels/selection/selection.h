// Kernels that pick elements by their order (kernels/selection/selection.cuh): the host's side.
#pragma once

#include "codegen/kernel.h"

namespace smelt::codegen {

/// The kernel of a `selection` fusion: one top_k over the last axis, with what computes its
/// elements.
mlir::FailureOr<GeneratedKernel> emitSelection(FusionOp fusion);

} // namespace smelt::codegen
