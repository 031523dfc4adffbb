// Stored masks: square tables that hold one value at and below a diagonal and another above it.
#pragma once

#include "ir/weights.h"

#include "mlir/IR/Builders.h"

namespace smelt::passes {

/// For a constant or a weight whose last two axes form such a table (and whose other axes have size
/// 1): the same values as select(j <= i + k, below, above), or as the comparison itself for bools;
/// null for all others. Older exports of decoders store the causal mask so. `weights` yields the
/// bytes of weights and may be null.
mlir::Value rebuildCausalTable(mlir::OpBuilder &builder, mlir::Operation *source,
                               WeightStore *weights);

} // namespace smelt::passes
