// Host side of kernels/squeeze_excite/squeeze_excite.cuh.
#pragma once

#include "codegen/kernel.h"

namespace smelt::codegen {

/// The kernel of a squeeze-and-excitation fusion, or two or three that follow each other where the target
/// has no clusters. Reports what cannot be emitted at the op.
mlir::FailureOr<KernelVariant> emitSqueezeExcite(FusionOp fusion, const Target &target);

} // namespace smelt::codegen
