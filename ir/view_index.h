// Where an element of a view comes from: positions of tensors as expressions over coordinates.
//
// Coordinates are symbols with known bounds, so that index arithmetic folds by the algebra of
// ir/dim.h: reshaping [b, s, 768] to [b, s, 12, 64] and back costs nothing, (i*768 + j) floordiv
// 768 is i. Views become maps from a result's position to an operand's.
#pragma once

#include "ir/dialect.h"

#include <optional>

namespace smelt {

/// A position in a tensor: one expression an axis.
using Index = llvm::SmallVector<Dim>;

/// Row-major offset of a position.
Dim linearize(llvm::ArrayRef<Dim> index, llvm::ArrayRef<Dim> shape, mlir::MLIRContext *context);
/// The position at a row-major offset, axis by axis from the last.
Index delinearize(Dim offset, llvm::ArrayRef<Dim> shape, const Bounds &bounds);

/// The operand's position for a position of the (broadcast) result of an elementwise op or expand.
Index broadcastIndex(llvm::ArrayRef<Dim> index, TensorType operand);

/// `index` of `from`, as a position of the tensor reshaped to `to`. Runs of axes with equal
/// products are matched first, so that an axis that stays keeps its expression.
Index reshapeIndex(llvm::ArrayRef<Dim> index, llvm::ArrayRef<Dim> from, llvm::ArrayRef<Dim> to,
                   const Bounds &bounds);

/// The position of a view's operand for a position of its result. `view` has the View trait.
Index operandIndex(mlir::Operation *view, llvm::ArrayRef<Dim> resultIndex, const Bounds &bounds);
/// The position of a view's result for a position of its operand; none for slices, windows and
/// expansions, where not every element of the operand has exactly one.
std::optional<Index> resultIndex(mlir::Operation *view, llvm::ArrayRef<Dim> operandIndex,
                                 const Bounds &bounds);

bool dependsOn(Dim dim, llvm::StringRef symbol);

/// The factor of `symbol` where `dim` is affine in it: dim = factor * symbol + rest.
std::optional<Dim> linearFactor(Dim dim, llvm::StringRef symbol);

} // namespace smelt
