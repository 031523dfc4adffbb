// Reads that are views: data[e0(c), e1(c), ...] where each index is affine in the result's
// coordinates.
#pragma once

#include "passes/coordinates.h"

#include "mlir/IR/Builders.h"

namespace smelt::passes {

/// An index that data must be large enough for.
struct SizeRequirement {
  Dim needed, available;
};

/// `data` read at `index` (one expression an axis, over the coordinates of `shape`) as a chain of
/// reshape, slice, transpose, reshape and expand; null where the read is no such chain or an index
/// may be negative. What could not be proven about upper bounds is appended to `requirements`.
mlir::Value readAsView(mlir::OpBuilder &builder, mlir::Location location, mlir::Value data,
                       llvm::ArrayRef<Dim> index, llvm::ArrayRef<Dim> shape,
                       llvm::SmallVectorImpl<SizeRequirement> &requirements);

} // namespace smelt::passes
