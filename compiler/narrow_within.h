// How much of a model can be narrowed to 16 bits within an error that its user gives: measured, not
// guessed.
#pragma once

#include "compiler/precision.h"
#include "compiler/progress.h"
#include "ir/weights.h"
#include "runtime/status.h"

#include "mlir/IR/BuiltinOps.h"

namespace smelt::compiler {

/// Marks those ops of `raised`, a module after the phase raise, that the phase narrow has to keep in
/// float32 so that every output stays within options.within. Fails with kUsage where a calibration
/// run does not fit the model, and with kAccuracy where the bound cannot be kept: fusing alone moves
/// an output further.
Result<NarrowingReport> narrowWithin(mlir::ModuleOp raised, WeightStore &weights,
                                     const NarrowingOptions &options,
                                     const ProgressHandler &progress);

} // namespace smelt::compiler
