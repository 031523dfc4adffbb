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

/// Copies `ops`, which compute `roots` from `leaves`, with constant sizes replaced by small ones:
/// one for each class of axes that the ops tie together (axis_classes.h). `keepsCounted`: axes along
/// which positions are counted keep their sizes, as an offset between queries and keys that is a
/// number by now needs it. Sizes that enter as numbers, such as 1/768 for a mean, keep their value,
/// so that a difference between shrunk expressions proves nothing. None where no size can shrink.
/// An op that no longer fits is reported as a diagnostic before its sizes are kept.
std::optional<ShrunkOps> shrinkSizes(llvm::ArrayRef<mlir::Operation *> ops,
                                     llvm::ArrayRef<mlir::Value> leaves,
                                     llvm::ArrayRef<mlir::Value> roots, int64_t firstSize,
                                     bool keepsCounted);

} // namespace smelt::passes
