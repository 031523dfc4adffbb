// Attention within the windows of an image (Swin): [batch * windows, heads, queries, keys], to which a
// mask of each window is added as [batch, windows, heads, queries, keys].
//
// Problem: a mask that repeats with the images broadcasts along no axis of the merged batch. Method: each
// window's heads become heads of the image: [batch, windows * heads, queries, keys], for which the mask,
// with all else that is added, is a bias of its own for every head.
#pragma once

#include "ir/dialect.h"

#include "mlir/IR/Builders.h"

#include <optional>

namespace smelt::passes {

/// The axes of windowed scores.
struct Windows {
  Dim batch, windows, heads;

  /// Leading axes of what the windows' products have, and of an attention over all windows.
  llvm::SmallVector<Dim> merged() const { return {batch * windows, heads}; }
  llvm::SmallVector<Dim> flat() const { return {batch, windows * heads}; }
  bool operator==(const Windows &other) const {
    return batch == other.batch && windows == other.windows && heads == other.heads;
  }
};

/// The windows of `split`, of five axes, where `merged` has the same elements in four: the first axis is
/// the first two of `split`. None where that does not hold.
std::optional<Windows> matchWindows(llvm::ArrayRef<Dim> merged, llvm::ArrayRef<Dim> split);

/// What broadcasts to merged scores, as it broadcasts to split ones.
mlir::Value splitWindows(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value,
                         const Windows &windows);

/// Q, K or V of merged windows, none of which broadcasts, under the leading axes of an attention over all
/// windows.
mlir::Value flattenOperand(mlir::OpBuilder &builder, mlir::Location location, mlir::Value operand,
                           const Windows &windows);

/// The result of an attention over all windows, as the windows' products with V have it.
mlir::Value mergeResult(mlir::OpBuilder &builder, mlir::Location location, mlir::Value result,
                        const Windows &windows);

/// A bias that broadcasts to split scores, as it broadcasts to those of an attention over all windows.
mlir::Value flattenBias(mlir::OpBuilder &builder, mlir::Location location, mlir::Value bias,
                        const Windows &windows);

} // namespace smelt::passes
