#include "tools/smelt/error_statistics.h"

#include "runtime/text.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace smelt::tools {

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// |output - reference|, infinite where only one of them is finite, 0 where both say the same.
static double absoluteError(double output, double reference) {
  if (output == reference || (std::isnan(output) && std::isnan(reference)))
    return 0;
  double error = std::abs(output - reference);
  return std::isfinite(error) ? error : kInfinity;
}

/// As doubles, large integers that differ may be the same.
static double errorAt(const Array &output, const Array &reference, size_t i) {
  double error = absoluteError(output.at(i), reference.at(i));
  return error == 0 && !isFloat(output.type) && !output.isSameAt(i, reference) ? 1 : error;
}

static double ratioOfNorms(double errorSquares, double referenceSquares) {
  if (errorSquares == 0)
    return 0;
  return referenceSquares == 0 ? kInfinity : std::sqrt(errorSquares / referenceSquares);
}

ErrorStatistics compareTensors(const Array &output, const Array &reference) {
  ErrorStatistics statistics;
  double errorSquares = 0, referenceSquares = 0;
  for (size_t i = 0; i < reference.elementCount(); ++i) {
    double actual = output.at(i), wanted = reference.at(i);
    double error = errorAt(output, reference, i);
    errorSquares += error * error;
    if (std::isfinite(wanted))
      referenceSquares += wanted * wanted;
    statistics.nonFiniteOutputs += !std::isfinite(actual);
    statistics.nonFiniteReferences += !std::isfinite(wanted);
    if (error > statistics.maxAbsolute || i == 0) {
      statistics.maxAbsolute = error;
      statistics.worstIndex = i;
      statistics.worstOutput = actual;
      statistics.worstReference = wanted;
    }
  }
  statistics.relativeNorm = ratioOfNorms(errorSquares, referenceSquares);
  return statistics;
}

double defaultTolerance(ElementType type, bool tf32) {
  switch (type) {
  case ElementType::f16:
  case ElementType::bf16:
    return 5e-3;
  case ElementType::f32:
    return tf32 ? 2e-3 : 2e-5;
  case ElementType::f64:
    return 1e-10;
  default: // some values are rounded to the neighbour: of floats of 8 bits, that is far away
    return isSmallFloat(type) ? 3e-2 : 0;
  }
}

double foreignTolerance(ElementType type) {
  switch (type) {
  case ElementType::f16:
  case ElementType::bf16:
    return 5e-3;
  case ElementType::f32:
    return 1e-4;
  case ElementType::f64:
    return 1e-7;
  default:
    return 0;
  }
}

double Tolerances::of(ElementType type, ElementType arithmetic) const {
  if (given)
    return *given;
  if (arithmetic == ElementType::f32 && narrows(precision))
    arithmetic = ElementType::f16;
  ElementType judged = isFloat(type) ? arithmetic : type;
  double own = defaultTolerance(judged, precision == FloatPrecision::tf32);
  return isForeign ? std::max(own, foreignTolerance(judged)) : own;
}

std::string positionText(size_t index, const std::vector<int64_t> &shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end())
    return "nowhere";
  std::vector<int64_t> position(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    position[axis] = static_cast<int64_t>(index % static_cast<size_t>(shape[axis]));
    index /= static_cast<size_t>(shape[axis]);
  }
  return shapeText(position);
}

} // namespace smelt::tools
