// What numbers a float may be, as far as the ops that compute it tell: what is clipped lies between
// two numbers, what is rounded is whole.
#pragma once

#include "ir/dialect.h"

namespace smelt {

/// The bounds hold for all but NaN.
struct NumberRange {
  double low, high;
  bool isWhole; ///< no fractions

  bool isWithin(double least, double most) const { return least <= low && high <= most; }
};

/// Infinite bounds where nothing is known.
NumberRange rangeOf(mlir::Value value);

/// Whole numbers that the 8-bit integer `type` holds.
bool isByte(const NumberRange &range, mlir::Type type);

/// The value is only clipped and rounded: what is lost of small fractions of it does not matter.
bool isOnlyRounded(mlir::Value value);

/// The f32 that all elements of a constant are; none for others.
std::optional<double> literalNumber(mlir::Value value);

} // namespace smelt
