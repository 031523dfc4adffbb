// Which tiling runs a matrix product: an analytic choice, made on the host, without a GPU.
#pragma once

#include "codegen/kernel.h"
#include "codegen/kernels/gemm/gemm_config.cuh"

namespace smelt::codegen {

/// A product C[m, n] += A[m, k] B[k, n], `batches` times.
struct GemmShape {
  int64_t m, n, k, batches;
};

enum class GemmPrecision { halfWidth, tf32, float32 };

/// A configuration of one of the GEMM templates.
struct GemmChoice {
  std::string header;   ///< "gemm_wgmma": the template's file
  std::string function; ///< "gemmWgmma": its device function
  std::string config;   ///< "GemmWgmmaConfig<64, 64, 6, 1>"
  int blockM, blockN, blockK, clusterK, threads, sharedBytes;
  double microseconds = 0; ///< by the model
  bool operator==(const GemmChoice &other) const { return config == other.config; }
};

/// The configurations that fit `target`, fastest first by the model of gemm_choice.cpp.
std::vector<GemmChoice> rankGemmTilings(const GemmShape &shape, GemmPrecision precision,
                                        const Target &target);

} // namespace smelt::codegen
