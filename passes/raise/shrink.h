// The same computation at smaller fixed sizes: a check of 1500 tokens then costs no more than one
// of five.
#pragma once

#include "ir/dialect.h"

#include "mlir/IR/Block.h"

namespace smelt::passes {

/// A copy of some ops, with leaves of its own.
struct ShrunkOps {
  std::unique_ptr<mlir::Block> block; // owns the copies; its arguments are the leaves
  llvm::SmallVector<mlir::Value> roots;
};

/// Copies `ops`, which compute `roots` from `leaves`, with large constant sizes replaced by small
/// ones wherever every reshape, slice and concat still fits. Sizes that enter as numbers, such as
/// 1/768 for a mean, keep their value, so that a difference between shrunk expressions proves
/// nothing. None where no size can shrink.
std::optional<ShrunkOps> shrinkSizes(llvm::ArrayRef<mlir::Operation *> ops,
                                     llvm::ArrayRef<mlir::Value> leaves,
                                     llvm::ArrayRef<mlir::Value> roots, int64_t firstSize);

} // namespace smelt::passes
