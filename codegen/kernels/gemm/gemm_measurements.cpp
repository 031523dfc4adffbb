#include "codegen/kernels/gemm/gemm_measurements.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace smelt::codegen {

GemmMeasurements::GemmMeasurements(
    llvm::ArrayRef<TilingTime> times,
    llvm::function_ref<std::optional<double>(llvm::StringRef tiling, int64_t rows)> modelled) {
  for (const TilingTime &time : times) {
    std::optional<double> model = modelled(time.tiling, time.rows);
    if (!model)
      continue;
    if (!time.failure.empty()) {
      failed.insert(time.tiling);
      continue;
    }
    Point &point = points[time.rows];
    double factor = time.microseconds / *model;
    point.factors[time.tiling] = factor;
    point.largest = std::max(point.largest, factor);
    measured.insert(time.tiling);
  }
}

double GemmMeasurements::factor(llvm::StringRef tiling, int64_t rows) const {
  constexpr double kNever = 1e6;
  if (failed.contains(tiling))
    return kNever;
  const Point &point = nearest(rows);
  auto found = point.factors.find(tiling);
  return found == point.factors.end() ? point.largest : found->second;
}

/// By the ratio of row counts.
const GemmMeasurements::Point &GemmMeasurements::nearest(int64_t rows) const {
  auto distance = [rows](int64_t other) {
    return std::abs(std::log(double(other) / double(std::max<int64_t>(rows, 1))));
  };
  return llvm::min_element(
             points,
             [&](const auto &a, const auto &b) { return distance(a.first) < distance(b.first); })
      ->second;
}

} // namespace smelt::codegen
