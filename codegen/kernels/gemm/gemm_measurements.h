// By how much the model of a product's tilings errs, from times that were measured.
#pragma once

#include "codegen/tuning.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <optional>

namespace smelt::codegen {

class GemmMeasurements {
public:
  /// `modelled` gives the model's microseconds; none for a tiling that the product cannot take.
  GemmMeasurements(
      llvm::ArrayRef<TilingTime> times,
      llvm::function_ref<std::optional<double>(llvm::StringRef tiling, int64_t rows)> modelled);

  /// Nothing was measured, though tilings may have failed.
  bool isEmpty() const { return points.empty(); }
  bool has(llvm::StringRef tiling) const {
    return !failed.contains(tiling) && measured.contains(tiling);
  }

  /// How many times longer than the model says the tiling takes; not where nothing was measured. That of the nearest row
  /// count at which tilings were measured; there, a tiling that was not is taken to err as the worst of the others.
  double factor(llvm::StringRef tiling, int64_t rows) const;

private:
  struct Point {
    llvm::StringMap<double> factors; ///< by tiling
    double largest = 0;
  };

  const Point &nearest(int64_t rows) const;

  std::map<int64_t, Point> points; ///< by row count
  llvm::StringSet<> failed, measured;
};

} // namespace smelt::codegen
