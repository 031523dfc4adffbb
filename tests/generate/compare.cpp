#include "tests/generate/compare.h"

#include "tests/generate/tensor_bytes.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>

namespace smelt::generate {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNoiseFactor = 6;    // of the norm: the noise is one draw of what rounding does
constexpr double kElementFactor = 30; // of one element: far in the tail of thousands
constexpr double kWorstFactor = 8;

double difference(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b)))
    return 0;
  double distance = std::abs(a - b);
  return std::isnan(distance) ? kInfinity : distance;
}

double rootMeanSquare(const std::vector<double> &values) {
  double sum = 0;
  size_t count = 0;
  for (double value : values)
    if (std::isfinite(value))
      sum += value * value, ++count;
  return count ? std::sqrt(sum / static_cast<double>(count)) : 0;
}

struct Errors {
  double relative = 0, worst = 0;
  size_t position = 0;
};

/// A reference whose elements are smaller than this (in the root mean square) is judged as if they were of this size:
/// operands are of size one, and what is left of their differences is rounding.
constexpr double kSmallest = 1e-3;

Errors errorsOf(const std::vector<double> &output, const std::vector<double> &reference) {
  double scale = std::max(rootMeanSquare(reference), kSmallest), squares = 0;
  Errors errors;
  for (size_t i = 0; i < reference.size(); ++i) {
    double error = difference(output[i], reference[i]);
    squares += error * error;
    double magnitude = std::isfinite(reference[i]) ? std::max(scale, std::abs(reference[i])) : 1;
    double relative = error / magnitude;
    if (relative > errors.worst)
      errors.worst = relative, errors.position = i;
  }
  if (squares > 0)
    errors.relative = std::sqrt(squares / static_cast<double>(reference.size())) / scale;
  return errors;
}

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text;
  for (int64_t extent : shape)
    text += (text.empty() ? "" : "x") + std::to_string(extent);
  return "[" + text + "]";
}

} // namespace

Numbers toNumbers(const Array &array) {
  Numbers numbers{array.shape, std::vector<double>(array.count())};
  for (size_t i = 0; i < numbers.values.size(); ++i)
    numbers.values[i] = elementAt(array.type, array.bytes.data(), i);
  return numbers;
}

void addSensitivity(const Numbers &reference, const Numbers &moved, bool isFloat,
                    Sensitivity &sensitivity) {
  Errors errors = errorsOf(moved.values, reference.values);
  if (!isFloat) {
    sensitivity.isDiscreteStable &= errors.worst == 0;
    return;
  }
  sensitivity.relative = std::max(sensitivity.relative, errors.relative);
  sensitivity.worst = std::max(sensitivity.worst, errors.worst);
}

double baseLimit(ElementType narrowest) {
  switch (narrowest) {
  case Wire::BFLOAT16:
    return 2e-2;
  case Wire::FLOAT16:
    return 5e-3;
  case Wire::FLOAT:
    return 2e-5;
  default:
    return 1e-10;
  }
}

Verdict compare(const Numbers &output, const Numbers &reference, bool exact, double base,
                const Sensitivity &sensitivity) {
  if (output.shape != reference.shape)
    return {false, kInfinity,
            "shape " + shapeText(output.shape) + " instead of " + shapeText(reference.shape)};
  Errors errors = errorsOf(output.values, reference.values);
  double limit = exact ? 0 : base + kNoiseFactor * sensitivity.relative;
  double worstLimit = exact ? 0 : kElementFactor * base + kWorstFactor * sensitivity.worst;
  Verdict verdict{errors.relative <= limit && errors.worst <= worstLimit, errors.relative, {}};
  if (!verdict.agrees)
    verdict.text =
        llvm::formatv("relative norm {0:e} (limit {1:e}), worst element {2:e} (limit {3:e}) at "
                      "{4} of {5}: {6:e} instead of {7:e}",
                      errors.relative, limit, errors.worst, worstLimit, errors.position,
                      shapeText(reference.shape), output.values[errors.position],
                      reference.values[errors.position])
            .str();
  return verdict;
}

} // namespace smelt::generate
