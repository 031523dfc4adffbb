// Which tilings can run a matrix product, each with a model of its time.
#pragma once

#include "codegen/kernels/gemm/gemm_choice.h"

#include <functional>

namespace smelt::codegen {

/// A tiling that fits, and what it takes for any number of rows.
struct GemmCandidate {
  GemmChoice choice;
  std::function<double(int64_t rows)> microseconds;
};

/// Those that fit `target`, in no order, their models corrected by `times` of this very product. They refer to `shape` and `target`;
/// shape.m is not read.
std::vector<GemmCandidate> gemmCandidates(const GemmShape &shape, GemmPrecision precision,
                                          const Target &target, llvm::ArrayRef<TilingTime> times);

} // namespace smelt::codegen
