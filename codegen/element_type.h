// The element types of the IR as plans name them.
#pragma once

#include "runtime/plan_format.h"

#include "mlir/IR/Types.h"

namespace smelt::codegen {

/// `type` must be one that tensors of the dialect may hold.
plan::ElementType planElementType(mlir::Type type);

} // namespace smelt::codegen
