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

/// `shape` without its axes of size 1.
llvm::SmallVector<Dim> withoutUnitAxes(llvm::ArrayRef<Dim> shape);

/// The axes of `input` that are left where `output` is `input` without some of its axes of size 1;
/// none where it is anything else, `input` itself among it.
std::optional<llvm::SmallVector<unsigned>> keptWhereUnitAxesDrop(llvm::ArrayRef<Dim> input,
                                                                 llvm::ArrayRef<Dim> output);

/// Tensors of tokens have up to three axes and keep them, whatever their sizes. Of more axes, as
/// attention's scores and stacked projections have, canonical forms drop those of size 1.
constexpr unsigned kMostTokenAxes = 3;

/// `output` is `input`, of more axes than tokens have, without some of its axes of size 1.
bool dropsUnitAxes(llvm::ArrayRef<Dim> input, llvm::ArrayRef<Dim> output);

/// As dropsUnitAxes, and the last two axes, those of a matrix, are kept.
bool dropsUnitBatchAxes(llvm::ArrayRef<Dim> input, llvm::ArrayRef<Dim> output);

/// `shape` with leading ones up to `rank` axes.
llvm::SmallVector<Dim> padShape(llvm::ArrayRef<Dim> shape, unsigned rank,
                                mlir::MLIRContext *context);

/// `shape` without its leading ones, which broadcasting does not see.
llvm::SmallVector<Dim> dropLeadingOnes(llvm::ArrayRef<Dim> shape);

/// The permutation p' with p'[p[i]] = i.
llvm::SmallVector<int64_t> invertPermutation(llvm::ArrayRef<int64_t> permutation);

llvm::SmallVector<Dim> permuteShape(llvm::ArrayRef<Dim> shape, llvm::ArrayRef<int64_t> permutation);

/// The shape that `operands` broadcast to; fails where they contradict.
mlir::FailureOr<llvm::SmallVector<Dim>> broadcastShape(mlir::ValueRange operands);

/// `op`, an elementwise op with one result, on other operands; `shape` is what they broadcast to.
mlir::Value cloneElementwise(mlir::OpBuilder &builder, mlir::Operation *op,
                             mlir::ValueRange operands, llvm::ArrayRef<Dim> shape);

/// The shape that all readers of `value` give it by dropping axes of size 1 (dropsUnitAxes); none
/// where one of them reads it otherwise.
std::optional<llvm::SmallVector<Dim>> readWithoutUnitAxes(mlir::Value value);

/// What `op` reduces of `transpose`'s result, as the transposition of what is reduced of its input.
mlir::Value reduceBeforeTranspose(mlir::OpBuilder &builder, ReduceOp op, TransposeOp transpose);

/// `value` under another shape: itself where it has that shape already.
mlir::Value reshapeTo(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value,
                      llvm::ArrayRef<Dim> shape);

/// The `size` elements of `value` from `start` on, along `axis`.
mlir::Value partOf(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value,
                   unsigned axis, Dim start, Dim size);

} // namespace smelt::passes
