// Guards: relations between sizes that a rewrite had to assume; the runtime checks them when a
// shape is bound.
#pragma once

#include "ir/dialect.h"

namespace smelt::passes {

/// Requires `left <= right` for every shape that the module runs at; `message` says what would go
/// wrong. Nothing is recorded for what holds for all sizes, nor twice.
void requireLessEqual(mlir::ModuleOp module, Dim left, Dim right, const llvm::Twine &message);

} // namespace smelt::passes
