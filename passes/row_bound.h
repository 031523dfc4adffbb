// What a model says about the values of an integer input.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace smelt::passes {

/// Marks each argument of an imported `main` that the model looks rows up with, directly or through
/// casts, views, concatenations and selections, by `smelt.row_bound`: the number of rows, so that
/// its values lie in [0, bound). The smallest where there are several tables; no mark where the
/// number is symbolic.
void markRowBounds(mlir::func::FuncOp main);

} // namespace smelt::passes
