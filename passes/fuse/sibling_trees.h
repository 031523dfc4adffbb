// Two elementwise trees of the same ops over neighbouring parts of one tensor, as one tree over
// both parts.
#pragma once

#include "ir/dialect.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

#include <variant>

namespace smelt::passes {

/// Both trees step by step: at each op of the one stands an op of the other that differs in nothing
/// but its size along one axis, that of the leaves' parts. Concatenations and views between count
/// as ops, and the axis is followed through them. What a tree repeats along the axis, its sibling
/// reads as it is.
class SiblingTrees {
public:
  /// The trees that end in `low` and in `high`, whose elements come next along some axis; none
  /// where they are no siblings.
  static std::optional<SiblingTrees> match(mlir::Value low, mlir::Value high);

  /// The axis along which the results adjoin.
  unsigned axis() const { return steps.back().axis; }
  /// The type of both results as one.
  TensorType type() const;
  /// What both trees read as it is, and repeat along their axis.
  llvm::ArrayRef<mlir::Value> repeated() const { return repeatedInputs.getArrayRef(); }
  /// The ops of both trees, each behind those that it reads.
  llvm::ArrayRef<mlir::Operation *> ops() const { return members.getArrayRef(); }
  bool contains(mlir::Operation *op) const { return members.contains(op); }

  /// Builds the one tree; its result is low's elements, then high's.
  mlir::Value join(mlir::OpBuilder &builder) const;

private:
  /// A tensor that both trees read, or the result of a step.
  using Source = std::variant<mlir::Value, size_t>;
  using Sources = std::optional<llvm::SmallVector<Source>>;

  /// Two ops that become one.
  struct Step {
    mlir::Operation *low, *high;
    unsigned axis;
    llvm::SmallVector<Source> sources;

    TensorType type() const;
  };

  /// The one op of `step`; `results` are those of the steps before it.
  static mlir::Value join(mlir::OpBuilder &builder, const Step &step,
                          mlir::ArrayRef<mlir::Value> results);

  std::optional<Source> matchValues(mlir::Value low, mlir::Value high, unsigned axis);
  Sources matchOperands(mlir::Operation *low, mlir::Operation *high, unsigned axis);
  Sources matchEach(mlir::Operation *low, mlir::Operation *high, unsigned axis);
  Sources matchSlices(SliceOp low, SliceOp high, unsigned axis);
  Sources matchBroadcasts(mlir::Operation *low, mlir::Operation *high, unsigned axis);
  std::optional<Source> matchBroadcast(mlir::OpOperand &low, mlir::OpOperand &high, unsigned axis);

  llvm::SmallVector<Step> steps; // the last is that of the results
  llvm::DenseMap<std::pair<std::pair<mlir::Value, mlir::Value>, unsigned>, size_t> numbers;
  llvm::SetVector<mlir::Value> repeatedInputs;
  llvm::SetVector<mlir::Operation *> members;
};

} // namespace smelt::passes
