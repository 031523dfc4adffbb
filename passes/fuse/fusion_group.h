// A group of ops that becomes one `smelt.fusion`: membership, live-outs, legality, outlining.
// Shared by the fuse_* passes.
#pragma once

#include "ir/dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace smelt::passes {

/// A scalar or splat constant: emitted as a literal, so it is cloned into every fusion that uses
/// it.
bool isLiteral(mlir::Value value);

/// Depends on weights and constants alone, through a limited number of ops, and has a static shape:
/// evaluated once, at compile time.
bool isWeightExpression(mlir::Value value);

/// Elementwise ops and those that only choose where an element comes from: what a kernel computes
/// at one position. Not a concatenation of many.
bool isPointwise(mlir::Operation *op);

/// A concatenation of so many tensors that its kernels do nothing else.
bool isConcatenationOfMany(mlir::Operation *op);

/// Not yet part of a fusion: a tensor op at the top level of the function that is no weight,
/// constant, weight expression or name of a caller's buffer.
bool isFree(mlir::Operation *op);

class FusionGroup {
public:
  bool contains(mlir::Operation *op) const { return members.contains(op); }
  void add(mlir::Operation *op) { members.insert(op); }
  void removeLast() { members.pop_back(); }
  llvm::ArrayRef<mlir::Operation *> ops() const { return members.getArrayRef(); }

  /// Results of members that are used outside the group, in block order.
  llvm::SmallVector<mlir::Value> liveOuts() const;

  /// Draws the chain of views behind `operand` and the literal or counting op that it ends in into
  /// the group, as far as `accept` allows; what has other users is cloned, for it costs nothing
  /// inside a kernel.
  void absorbViews(mlir::OpOperand &operand,
                   llvm::function_ref<bool(mlir::Operation *)> accept = nullptr);

  /// Draws in the pointwise ops behind `operand` that nobody else uses; with `shareable`, also one
  /// that others use, which then is a result of the fusion too. `accept` limits what is taken, and
  /// so does the number of ops that one kernel holds.
  void absorbProducers(mlir::OpOperand &operand,
                       llvm::function_ref<bool(mlir::Operation *)> accept);

  /// No path leads from a result of the group back into the group.
  bool isAcyclic() const;

  /// Replaces the members by one fusion. The block may need a topological sort afterwards.
  FusionOp outline(FusionKind kind);

private:
  llvm::SetVector<mlir::Operation *> members;
};

/// Grows `group` forward from `value` over ops that `accept` allows, as far as one live-out
/// remains.
void growEpilogue(FusionGroup &group, mlir::Value value,
                  llvm::function_ref<bool(mlir::Operation *)> accept);

/// Restores dominance after fusions were outlined.
mlir::LogicalResult sortFunction(mlir::func::FuncOp function);

} // namespace smelt::passes
