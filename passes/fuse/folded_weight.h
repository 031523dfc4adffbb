// Whether rows of weights may be scaled, and columns centered, at compile time without losing what
// the weights say.
#pragma once

#include "ir/interpret/interpret.h"
#include "ir/interpret/thread_pool.h"

#include <optional>

namespace smelt::passes {

class FoldedWeights {
public:
  /// `weights` may be null: then nothing is known, and nothing refused.
  explicit FoldedWeights(WeightStore *weights) : weights(weights) {}

  /// The matrix `weight` with row k scaled by element k of `scale` (null: by 1), rounded to its
  /// element type as it is or with the mean of each column subtracted, is finite, and each column
  /// differs from the exact one by at most four times the relative rounding error of the type
  /// (2^-9 for f16) times the column before the subtraction. Weights whose bytes are missing pass.
  bool keepDigits(mlir::Value scale, mlir::Value weight);

private:
  bool keepDigits(llvm::ArrayRef<float> scale, mlir::Value weight);
  std::optional<HostTensor> valueOf(mlir::Value value);

  WeightStore *weights;
  std::optional<ThreadPool> threads; // made for the first scan
};

} // namespace smelt::passes
