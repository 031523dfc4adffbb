// Attention that no kernel template takes, as the ops that it stands for.
#pragma once

#include "ir/capabilities.h"

#include "mlir/IR/Builders.h"

namespace smelt::passes {

/// What `attention` computes, by two products and a softmax.
mlir::Value expandAttention(mlir::OpBuilder &builder, AttentionOp attention);

} // namespace smelt::passes
