// The smallest and largest shapes that a plan is to take: guards of the module.
#pragma once

#include "compiler/signature.h"

#include "mlir/IR/BuiltinOps.h"

namespace smelt::compiler {

/// Adds guards that keep each dimension of the inputs at or above `smallest` and at or below
/// `largest`; -1 sets no limit. Fails with kUsage for unknown inputs, and for limits that
/// contradict each other, a fixed size, or how many elements a kernel can address of an input.
Status addShapeLimits(mlir::ModuleOp module, const Signature &signature,
                      const NamedShapes &smallest, const NamedShapes &largest);

} // namespace smelt::compiler
