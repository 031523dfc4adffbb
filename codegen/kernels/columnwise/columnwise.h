// Host side of kernels/columnwise/columnwise.cuh.
#pragma once

#include "codegen/kernel.h"

namespace smelt::codegen {

/// The kernel of a fusion with one reduction over axes before the last (pools and depthwise
/// convolutions of images with their channels last, statistics of a batch). Reports what cannot be
/// emitted at the op.
mlir::FailureOr<GeneratedKernel> emitColumnwise(FusionOp fusion);

} // namespace smelt::codegen
