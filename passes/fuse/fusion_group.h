// A group of ops that becomes one `smelt.fusion`: membership, live-outs, legality, outlining.
// Shared by the fuse_* passes.
#pragma once

#include "ir/capabilities.h"
#include "passes/fuse/kernel_size.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace smelt::passes {

/// Not yet part of a fusion: a tensor op at the top level of the function that is no weight,
/// constant, weight expression or name of a caller's buffer.
bool isFree(mlir::Operation *op);

class FusionGroup {
public:
  bool contains(mlir::Operation *op) const { return members.contains(op); }
  void add(mlir::Operation *op);
  void removeLast();
  llvm::ArrayRef<mlir::Operation *> ops() const { return members.getArrayRef(); }

  /// The kernel stays short enough for its compiler with `op`, of which members are read or read.
  bool fits(mlir::Operation *op);

  /// Results of members that are used outside the group, in block order.
  llvm::SmallVector<mlir::Value> liveOuts() const;

  /// Draws the chain of views behind `operand` and the literal or counting op that it ends in into
  /// the group, as far as `accept` allows; what has other users is cloned, for it costs nothing
  /// inside a kernel.
  void absorbViews(mlir::OpOperand &operand,
                   llvm::function_ref<bool(mlir::Operation *)> accept = nullptr);

  /// Draws in the pointwise ops behind `operand` that nobody else uses; with `shareable`, also one
  /// that others use, which then is a result of the fusion too. `accept` limits what is taken, and
  /// so does the length of one kernel.
  void absorbProducers(mlir::OpOperand &operand,
                       llvm::function_ref<bool(mlir::Operation *)> accept);

  /// No path leads from a result of the group back into the group. Every op of the block stands
  /// behind what it uses.
  bool isAcyclic() const;

  /// Replaces the members, of which the last leads to no other, by one fusion in its place; what
  /// reads its other results follows it.
  FusionOp outline(FusionKind kind);

private:
  bool fits(mlir::Operation *op, llvm::ArrayRef<mlir::OpOperand *> uses);
  /// Tensors that the kernel would read with `op`.
  size_t countInputs(mlir::Operation *op) const;

  llvm::SetVector<mlir::Operation *> members;
  KernelSize size;
};

/// "matmul, gelu, add": what a kernel of these ops computes.
std::string describe(const FusionGroup &group);

/// Moves what the weight expression `value` is computed by in front of `point`, an op of its block.
void moveBefore(mlir::Value value, mlir::Operation *point);

/// A reader of a kernel's result that is not part of the kernel, and the predicate that keeps it
/// out.
struct Boundary {
  mlir::Operation *reader = nullptr; // null: nothing reads the result
  llvm::StringRef predicate;
};

/// How far a group grows, while it has several live-outs, in search of the one that all lead to.
struct GrowthLimits {
  size_t liveOuts = 3, ops = 16;
};

/// Grows `group` forward from its live-outs over ops that `accept` allows, as far as one live-out
/// remains.
Boundary growEpilogue(FusionGroup &group, llvm::function_ref<bool(mlir::Operation *)> accept,
                      GrowthLimits limits = {});

} // namespace smelt::passes
