#include "ir/interpret/compare.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

namespace smelt {

std::optional<ErrorStatistics> compare(const HostTensor &result, const HostTensor &reference) {
  if (result.getShape() != reference.getShape())
    return std::nullopt;
  ErrorStatistics error;
  double difference = 0, norm = 0;
  for (int64_t i = 0; i < reference.getNumElements(); ++i) {
    double x = result.getDouble(i), y = reference.getDouble(i);
    if (!std::isfinite(x) || !std::isfinite(y)) {
      bool same = x == y || (std::isnan(x) && std::isnan(y));
      if (!same && error.nonFinite++ == 0)
        error.worstPosition = i;
      continue;
    }
    difference += (x - y) * (x - y);
    norm += y * y;
    double relative = std::abs(x - y) / std::max(1.0, std::abs(y));
    if (relative > error.worst) {
      error.worst = relative;
      error.worstPosition = error.nonFinite ? error.worstPosition : i;
    }
  }
  error.relative = std::sqrt(difference) / (norm > 0 ? std::sqrt(norm) : 1.0);
  return error;
}

std::string toString(const ErrorStatistics &error) {
  std::string text = llvm::formatv("relative error {0:e3}, worst element {1:e3} at {2}",
                                   error.relative, error.worst, error.worstPosition);
  return error.nonFinite
             ? text + llvm::formatv(", {0} NaN or infinities that disagree", error.nonFinite).str()
             : text;
}

} // namespace smelt
