// Declarations of every pass, and their registration for smelt-opt.
#pragma once

#include "ir/dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace smelt::passes {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/passes.h.inc"

} // namespace smelt::passes

namespace smelt {

/// Registers every pass of this folder, and each phase as a pipeline, with MLIR's command line.
void registerSmeltPasses();

} // namespace smelt
