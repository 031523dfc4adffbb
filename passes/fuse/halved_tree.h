// An elementwise tree over the heads of a projection, as one tree for each half of a head's elements.
#pragma once

#include "ir/dialect.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace smelt::passes {

/// The elements of each head's lower half and those of its upper half. Of a tensor that has half of
/// a head's elements, they are `lower`, and `upper` is null.
struct Halves {
  mlir::Value lower, upper;
};

/// What some heads [..., heads, element] lead to by sums, products and changes of type, where halves
/// of heads change places on the way:
///
///   x cos + [-x[h:], x[:h]] sin   =>   l cos - u sin,   u cos + l sin
///
/// Views may permute the axes before the last one, add such of size 1 and drop them. All else that the tree reads
/// (tables) is repeated along the heads.
class HalvedTree {
public:
  /// The ops that lead on from `heads`, but for views behind the last of them; none where something else reads an inner
  /// value, or `heads`, or where no halves meet again.
  static std::optional<HalvedTree> grow(mlir::Value heads);

  /// What the tree computes: all heads' elements.
  mlir::Value result() const { return end; }
  llvm::ArrayRef<mlir::Operation *> ops() const { return members.getArrayRef(); }
  /// What it reads beside the heads.
  llvm::SmallVector<mlir::Value> tables() const;

  /// Builds the trees over `halves` of more heads, which have the axes of the tree's own. None where it is no tree of
  /// halves; ops that were built until then are left.
  std::optional<Halves> build(mlir::OpBuilder &builder, Halves halves);
  /// `turned`, which has the axes of the tree's own heads, as the result has them. Once halves are built.
  mlir::Value asResult(mlir::OpBuilder &builder, mlir::Value turned) const;

private:
  /// Of each axis of a value, that of the heads; none of some of size 1.
  using Axes = llvm::SmallVector<std::optional<unsigned>>;

  /// What a value of the tree became.
  struct Node {
    Halves halves;
    Axes axes; ///< of the value
  };

  std::optional<Node> buildOne(mlir::OpBuilder &builder, mlir::Operation *op);
  std::optional<Node> buildElementwise(mlir::OpBuilder &builder, mlir::Operation *op);
  std::optional<Halves> halvesOfTable(mlir::OpBuilder &builder, mlir::Value table, const Axes &axes,
                                      bool isWhole) const;
  unsigned rank() const { return tensorType(heads).getRank(); }
  void dropViewsBehind();

  mlir::Value heads, end;
  llvm::SetVector<mlir::Operation *> members;
  llvm::DenseMap<mlir::Value, Node> nodes;
};

} // namespace smelt::passes
