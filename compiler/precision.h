// What the float32 values of a model are computed in, at its user's wish.
#pragma once

#include "ir/interpret/host_tensor.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace smelt::compiler {

/// Values of other types stay as they are, and so do the types of inputs and outputs.
enum class FloatPrecision {
  fp32, ///< as the model says
  tf32, ///< products at ten bits of mantissa, all values stored as float32
  fp16, ///< f16 where nothing needs more (passes/narrow)
  bf16,
};

/// As options and modules spell it.
constexpr const char *nameOf(FloatPrecision precision) {
  constexpr const char *kNames[] = {"fp32", "tf32", "fp16", "bf16"};
  return kNames[static_cast<int>(precision)];
}

inline bool narrows(FloatPrecision precision) {
  return precision == FloatPrecision::fp16 || precision == FloatPrecision::bf16;
}

/// What a measured narrowing came to.
struct NarrowingReport {
  struct Wide {
    std::string nodes; ///< the ONNX nodes, as locationText names them
    std::string op;    ///< "matmul"
    double error; ///< relative norm of its own error in 16 bits, on the values it has in float32
  };
  size_t narrow = 0;      ///< ops that compute in 16 bits
  std::vector<Wide> wide; ///< those that would, kept in float32 for the bound; the worst first
  double error = 0;       ///< largest relative norm of an output's error, over the calibration
};

struct NarrowingOptions {
  FloatPrecision to = FloatPrecision::fp32; ///< only fp16 and bf16 narrow
  /// Largest relative norm of an output's error against float32, measured on `calibration` by the
  /// interpreter; none: the rules of passes/narrow decide alone.
  std::optional<double> within;
  /// Inputs of one run each, in the order of @main's arguments. At least one where `within` is given.
  std::vector<std::vector<HostTensor>> calibration;
  std::function<void(const NarrowingReport &)> onMeasured;
};

} // namespace smelt::compiler
