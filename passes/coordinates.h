// What an integer or bool tensor holds at each coordinate, as an expression over sizes and
// coordinates.
//
// Exporters compute positions and masks in the graph: Range, Unsqueeze, Expand, Concat,
// comparisons. None of it depends on data. Here `position_ids` is `c1`, GPT-2's packed-sequence
// test `position[j] - position[j-1] == 1` is `true`, and an index tensor that is affine in its
// coordinates says that its gather is only a view.
#pragma once

#include "ir/view_index.h"
#include "ir/weights.h"

#include "llvm/ADT/DenseMap.h"

namespace smelt::passes {

/// The symbol of coordinate `axis`; no size symbol has such a name.
Dim coordinate(mlir::MLIRContext *context, unsigned axis);

/// A position of a tensor of `shape` as coordinates; an axis of size 1 has only position 0.
Index coordinatesOf(llvm::ArrayRef<Dim> shape, mlir::MLIRContext *context);

/// The axis where `symbol` is a coordinate.
std::optional<unsigned> coordinateAxis(llvm::StringRef symbol);

/// 0 <= coordinate < size for each axis of `shape`.
Bounds coordinateBounds(llvm::ArrayRef<Dim> shape);

bool usesCoordinates(Dim expression);

/// `expression` with coordinate(axis) replaced by values[axis].
Dim atCoordinates(Dim expression, llvm::ArrayRef<Dim> values, const Bounds &bounds = {});

class CoordinateAnalysis {
public:
  /// `weights`: bytes of small integer weights such as tables of position ids; may be null.
  explicit CoordinateAnalysis(WeightStore *weights = nullptr) : weights(weights) {}

  /// The element at (c0, c1, ...); bools are 0 and 1. None where it depends on data or has no such
  /// form. Results are kept: a value must not change its meaning while the analysis lives.
  std::optional<Dim> element(mlir::Value value);

  /// The same with the coordinate of `axis` fixed, which also reads one piece of a concat.
  std::optional<Dim> elementAt(mlir::Value value, unsigned axis, int64_t position);

private:
  std::optional<Dim> compute(mlir::Value value);
  std::optional<Dim> computeElementwise(mlir::Operation *op);
  std::optional<Dim> computeView(mlir::Operation *op);
  std::optional<Dim> computeConcat(ConcatOp op);
  std::optional<Dim> computeGather(mlir::Operation *op);
  std::optional<Dim> computeCumsum(CumsumOp op);

  WeightStore *weights;
  llvm::DenseMap<mlir::Value, std::optional<Dim>> known;
  int depth = 0;
};

} // namespace smelt::passes
