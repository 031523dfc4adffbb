// The bias of an attention: what exporters add to, or select over, the scores, brought to one form.
#pragma once

#include "ir/dialect.h"

#include "mlir/IR/Builders.h"

namespace smelt::passes {

/// Scores that a mask replaces get this or less: far below every score, so that adding one changes
/// nothing in fp32, and far enough from the lowest fp32 that kernels may still multiply it by
/// log2(e).
constexpr double kMaskedScore = -1e38;

/// A constant at or below this, added to or put in place of a score, masks it. Scores in half reach
/// 65504 at most and in practice far less; a fill of -10000 lies within their range, where what it
/// masks may still weigh more than the other keys.
constexpr double kLargestMaskFill = -3e4;

/// Builds the bias from the inside out; `bias` is null where nothing was added yet.
/// bias + term (or - term)
mlir::Value addBias(mlir::OpBuilder &builder, mlir::Location location, mlir::Value bias,
                    mlir::Value term, bool negative);
/// factor * bias
mlir::Value scaleBias(mlir::OpBuilder &builder, mlir::Location location, mlir::Value bias,
                      double factor);
/// The bias of select(condition, score + bias, fill), or of select(condition, fill, score + bias)
/// where `fillWhenTrue`; `fill` is -inf, or at most kMaskedScore.
mlir::Value maskBias(mlir::OpBuilder &builder, mlir::Location location, mlir::Value bias,
                     mlir::Value condition, double fill, bool fillWhenTrue, mlir::Type elementType);

/// A bias as an attention takes it.
struct NormalBias {
  mlir::Value bias; // null: none
  bool causal = false;
};

/// Strips broadcasts, drops zeros, and moves `key j <= query i + (keys - queries)` from the mask
/// into the causal flag where that is exact.
NormalBias normaliseBias(mlir::OpBuilder &builder, mlir::Location location, mlir::Value bias,
                         Dim queries, Dim keys);

} // namespace smelt::passes
