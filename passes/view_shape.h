// What a reshape does to the axes, as groups: which input axes merge into or split into which
// output axes.
#pragma once

#include "ir/dialect.h"

namespace smelt::passes {

/// Input axes and output axes that hold the same elements. Axes of size 1 belong to no group.
struct AxisGroup {
  llvm::SmallVector<unsigned> input, output;
};

/// The finest groups that turn `input` into `output` in row-major order; none where the sizes
/// cannot be matched.
std::optional<llvm::SmallVector<AxisGroup>> groupAxes(llvm::ArrayRef<Dim> input,
                                                      llvm::ArrayRef<Dim> output);

/// `output` is `input` with axes of size 1 added or removed.
bool differInUnitAxes(llvm::ArrayRef<Dim> input, llvm::ArrayRef<Dim> output);

/// `shape` with leading ones up to `rank` axes.
llvm::SmallVector<Dim> padShape(llvm::ArrayRef<Dim> shape, unsigned rank,
                                mlir::MLIRContext *context);

/// The permutation p' with p'[p[i]] = i.
llvm::SmallVector<int64_t> invertPermutation(llvm::ArrayRef<int64_t> permutation);

llvm::SmallVector<Dim> permuteShape(llvm::ArrayRef<Dim> shape, llvm::ArrayRef<int64_t> permutation);

/// The shape that `operands` broadcast to; fails where they contradict.
mlir::FailureOr<llvm::SmallVector<Dim>> broadcastShape(mlir::ValueRange operands);

/// `op`, an elementwise op with one result, on other operands; `shape` is what they broadcast to.
mlir::Value cloneElementwise(mlir::OpBuilder &builder, mlir::Operation *op,
                             mlir::ValueRange operands, llvm::ArrayRef<Dim> shape);

/// `value` under another shape: itself where it has that shape already.
mlir::Value reshapeTo(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value,
                      llvm::ArrayRef<Dim> shape);

} // namespace smelt::passes
