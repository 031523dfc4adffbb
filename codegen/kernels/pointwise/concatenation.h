// Concatenations of many tensors, as a sequence of kernels.
#pragma once

#include "codegen/kernel.h"

namespace smelt::codegen {

/// The fusion's result is a concatenation of more tensors than one kernel should choose from.
bool isConcatenationOfMany(FusionOp fusion);

/// The launches of such a fusion: each writes the part of the result that a few of its inputs make.
/// Reports what cannot be emitted at the op.
mlir::FailureOr<std::vector<KernelVariant>> emitConcatenation(FusionOp fusion);

} // namespace smelt::codegen
