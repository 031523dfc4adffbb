// Which results no rounding touches, in whatever order they are computed.
//
// Sums of bytes times powers of two are exact in float32: where such a number lies just between two steps of a quantised
// type, rounding does not decide which of them it becomes. Without this, what quantises it could not be judged.
#pragma once

#include "ir/interpret/interpret.h"

namespace smelt::generate {

/// Of an op whose operands are all exact: whether its float result is too. The terms of sums must be multiples of one power of
/// two, and so small that the type of the result holds the sum of their magnitudes in these units; factors outside of sums
/// must be powers of two, so that it does not matter where they are multiplied.
bool isExactArithmetic(mlir::Operation *op, llvm::ArrayRef<HostTensor> operands,
                       const HostTensor &result, const Symbols &symbols,
                       const EvaluateOptions &options);

} // namespace smelt::generate
