// Host side of kernels/rowwise/rowwise.cuh.
#pragma once

#include "codegen/kernel.h"

namespace smelt::codegen {

/// The kernel of a fusion with reductions over trailing axes (norms, softmax, sums), whose row
/// stays on chip between them. Reports what cannot be emitted at the op.
mlir::FailureOr<GeneratedKernel> emitRowwise(FusionOp fusion);

} // namespace smelt::codegen
