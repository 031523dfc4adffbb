// Where the rows of an attention's operands and result lie once views are part of its kernel.
#pragma once

#include "ir/capabilities.h"

#include "llvm/ADT/DenseMap.h"

namespace smelt::passes {

/// The rows of a tensor [batch, head, row, element] of an attention, followed through views.
class AttentionRows {
public:
  AttentionRows(mlir::Value tensor, RowDistance distance);

  /// The templates reach them before `view`, whose result is a tensor that was seen.
  bool keptBefore(mlir::Operation *view);

  /// They still do after `view`, whose operand is a tensor that was seen.
  bool keptAfter(mlir::Operation *view);

  /// They would where `part`, a tensor that was seen, lay in one of shape `whole`, from `start` of
  /// its `axis`.
  bool keptWithin(mlir::ArrayRef<Dim> whole, mlir::Value part, unsigned axis, Dim start) const;

private:
  bool keep(mlir::Value tensor, const Index &index);
  bool areRegular(mlir::ArrayRef<Dim> index, mlir::ArrayRef<Dim> shape) const;

  llvm::SmallVector<Dim> shape;
  Bounds bounds;
  RowDistance distance;
  llvm::DenseMap<mlir::Value, Index> positions; // of tensors seen, by the coordinates of the first
};

} // namespace smelt::passes
