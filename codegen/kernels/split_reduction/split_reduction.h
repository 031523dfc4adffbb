// Reductions of few long rows (kernels/split_reduction/split_reduction.cuh).
#pragma once

#include "codegen/kernel.h"

namespace smelt::codegen {

/// The variant of a row-wise fusion that cuts rows into parts, ruled by their number: two or more.
/// None where the fusion needs its rows whole, or never has long rows. Reports what cannot be
/// emitted at the op.
mlir::FailureOr<std::optional<KernelVariant>> emitSplitReduction(FusionOp fusion,
                                                                 const Target &target);

} // namespace smelt::codegen
