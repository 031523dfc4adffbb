// Attention that no kernel template takes, as the ops that it stands for.
#pragma once

#include "ir/dialect.h"

#include "mlir/IR/Builders.h"

namespace smelt::passes {

/// Largest head size that the attention templates take.
constexpr int64_t kMostHeadSize = 256;

/// The templates take an attention of these operands, by element type and head sizes. As one
/// `generic` kernel, an attention computes every score again for each element of its result.
bool hasAttentionTemplate(mlir::Value query, mlir::Value value);

/// What `attention` computes, by two products and a softmax.
mlir::Value expandAttention(mlir::OpBuilder &builder, AttentionOp attention);

} // namespace smelt::passes
