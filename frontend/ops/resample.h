// Interpolation along one axis.
#pragma once

#include "frontend/ops/expression.h"

namespace smelt::frontend {

enum class Interpolation { nearest, linear, cubic };
/// Which neighbour is nearest: of two, where neither is the position itself.
enum class Nearest { preferFloor, preferCeil, floor, ceil };

struct Resampling {
  Interpolation mode = Interpolation::nearest;
  Nearest nearest = Nearest::preferFloor;
  double cubicCoefficient = -0.75;
  /// Neighbours outside the axis have no weight; otherwise they are its first or last element.
  bool excludesOutside = false;
  /// Below 1 the filter is stretched by its inverse, so that every element of the input counts.
  double filterScale = 1;
};

/// The input with one axis read at `positions`, float64 of rank 1. In the type in which it is
/// computed: the input's for nearest neighbours, else float32 or float64.
mlir::Value resample(GraphBuilder &build, mlir::Value input, int64_t axis, Expression positions,
                     const Resampling &resampling);

/// A result of resample() in the type that was resampled: integers are rounded and stay in range.
mlir::Value backTo(GraphBuilder &build, mlir::Value value, mlir::Type elementType);

} // namespace smelt::frontend
