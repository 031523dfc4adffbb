// Which tiling runs a matrix product: an analytic choice, made on the host, without a GPU.
#pragma once

#include "codegen/kernel.h"
#include "codegen/kernels/gemm_config.cuh"

namespace smelt::codegen {

/// A product C[m, n] += A[m, k] B[k, n], `batches` times.
struct GemmShape {
  int64_t m, n, k, batches;
};

enum class GemmPrecision { halfWidth, tf32, float32 };

/// A configuration of one of the GEMM templates, printable as the template's name.
struct GemmChoice {
  std::string config; ///< "GemmConfig<64, 64, 64, 2, 2, 4, 2>"
  int blockM, blockN, clusterK, threads, sharedBytes;
  double microseconds = 0; ///< of the model
  bool operator==(const GemmChoice &other) const { return config == other.config; }
};

/// The configurations that fit `target`, fastest first by the model of gemm_choice.cpp.
std::vector<GemmChoice> rankGemmTilings(const GemmShape &shape, GemmPrecision precision,
                                        const Target &target);

} // namespace smelt::codegen
