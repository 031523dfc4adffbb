// Which axes of a group of values have one size because the ops between them say so: the rows of a
// product's left side, of its result, and of all that is added to it.
//
// Two axes of 512 elements, one the sequence and one the channels, are two classes. A class may be
// composed of others: a reshape of 512 into 8 x 64 makes it their product, a concatenation a sum.
#pragma once

#include "ir/dialect.h"

#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace smelt::passes {

class AxisClasses {
public:
  /// `ops` compute all values but the leaves.
  AxisClasses(llvm::ArrayRef<mlir::Operation *> ops, llvm::ArrayRef<mlir::Value> leaves);

  /// The classes of these values keep their sizes.
  void keep(mlir::ValueRange values);
  /// Axes along which an iota counts keep their sizes.
  void keepCounted();

  /// Gives new sizes to all that may change: `firstSize`, `firstSize` + 1, ... in the order of the
  /// sizes that they have, equal ones for equal ones, none larger than it was. Returns whether any
  /// changes.
  bool shrink(int64_t firstSize);

  /// The type of `value` at the sizes of the last shrink().
  TensorType typeOf(mlir::Value value) const;

private:
  /// Axes are numbered; those of constant size 1 have no number.
  static constexpr int kNone = -1;
  int axisOf(mlir::Value value, size_t axis) const;
  int rootOf(int axis) const;

  void number(mlir::Value value);
  void relate(mlir::Operation *op);
  void relateReshape(mlir::Value input, mlir::Value output);
  void relateSlice(mlir::Operation *op);
  void relateConcat(mlir::Operation *op);
  void relateMatmul(mlir::Operation *op);
  void relateAttention(mlir::Operation *op);
  void relateGather(mlir::Operation *op);
  /// Trailing axes meet, as in broadcasting; the last `skipped` do not.
  void broadcast(mlir::Value operand, mlir::Value result, size_t skipped = 0);
  void unite(int first, int second);
  void keep(int axis);

  struct Composition {
    int whole;
    llvm::SmallVector<int> parts;
    bool isProduct;
  };
  void compose(int whole, llvm::ArrayRef<int> parts, bool isProduct);
  void uniteParts();
  /// Composed classes get the size of their parts; a class of fixed size fixes its parts.
  void keepParts();
  Dim composed(const Composition &composition, llvm::ArrayRef<Dim> sizes) const;

  llvm::SmallVector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<int>> axes;
  std::vector<Dim> original; ///< of each axis
  mutable std::vector<int> parent;
  std::vector<bool> kept; ///< of each class's root
  std::vector<Composition> compositions;
  std::vector<Dim> chosen; ///< of each axis
};

} // namespace smelt::passes
