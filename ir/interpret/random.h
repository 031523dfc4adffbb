// Random tensors: inputs of tests, of raise checks and of models run without data.
#pragma once

#include "ir/interpret/host_tensor.h"

#include <cstdint>
#include <random>

namespace smelt {

/// Reproducible on every machine: the standard library's engines are, its distributions are not.
class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}

  uint64_t bits() { return engine(); }
  /// Uniform in [0, 1).
  double uniform() { return static_cast<double>(engine() >> 11) * 0x1p-53; }
  /// Standard normal.
  double normal();
  /// Uniform in [low, high).
  int64_t integer(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(bits() % static_cast<uint64_t>(high - low));
  }

private:
  std::mt19937_64 engine;
};

/// Integers lie in [low, high) as far as their type holds it; bools are 0 or 1; floats are normal
/// with this deviation, rounded to their declared type.
struct RandomOptions {
  int64_t low = 0, high = 2;
  double deviation = 1.0;
};

/// None where the tensor cannot be allocated.
std::optional<HostTensor> randomTensor(llvm::ArrayRef<int64_t> shape, mlir::Type elementType,
                                       uint64_t seed, RandomOptions options = {});

} // namespace smelt
