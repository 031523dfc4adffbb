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
/// Makes every pass known by its flag.
inline void registerSmeltPasses() { passes::registerSmeltPasses(); }
} // namespace smelt
