// The logarithm of softmax, which losses take too.
#pragma once

#include "frontend/graph_builder.h"

namespace smelt::frontend {

/// x - max - log(sum(exp(x - max))), which stays finite where softmax underflows.
mlir::Value logSoftmax(GraphBuilder &build, mlir::Value input, int64_t axis);

} // namespace smelt::frontend
