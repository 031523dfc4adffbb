// How far a result is from its reference.
#pragma once

#include "compiler/precision.h"
#include "tools/smelt/array.h"

namespace smelt::tools {

/// All in double precision. Elements that are NaN in both, or the same infinity in both, agree; an
/// element that is not finite in only one of the two makes the errors infinite.
struct ErrorStatistics {
  double relativeNorm =
      0; ///< ||out - ref|| / ||ref||; 0 where both are zero, infinite where only ref is
  double maxAbsolute = 0;      ///< of the worst element
  size_t worstIndex = 0;       ///< flat position of the worst element
  double worstOutput = 0;      ///< its value
  double worstReference = 0;   ///< and what it should be
  size_t nonFiniteOutputs = 0; ///< NaN or infinite elements of the output
  size_t nonFiniteReferences = 0;
};

/// Both must have the same shape.
ErrorStatistics compareTensors(const Array &output, const Array &reference);

/// The largest relative norm that counts as agreement: 2e-5 for float32 (2e-3 where tf32
/// was asked for), 5e-3 for the 16-bit floats, 1e-10 for float64, exact for everything else.
double defaultTolerance(ElementType type, bool tf32);

/// The same against a reference that another program computed in its own arithmetic: 1e-4 for
/// float32, 5e-3 for the 16-bit floats, 1e-7 for float64, exact for everything else.
double foreignTolerance(ElementType type);

/// How exact values must be.
struct Tolerances {
  std::optional<double> given; ///< for all of them
  FloatPrecision precision = FloatPrecision::fp32;
  bool isForeign = false; ///< the reference was computed by another program, in its own arithmetic

  /// The limit of the relative norm of a value of `type`. A float is as exact as the coarsest
  /// arithmetic on the way to it, which is `arithmetic`.
  double of(ElementType type, ElementType arithmetic) const;
};

/// The position in `shape` of a flat index, "[0, 17, 3]"; "nowhere" in a shape without elements.
std::string positionText(size_t index, const std::vector<int64_t> &shape);

} // namespace smelt::tools
