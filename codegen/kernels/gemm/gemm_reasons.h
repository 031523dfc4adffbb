// Why a product has its tiling, for people.
#pragma once

#include "codegen/kernels/gemm/gemm_choice.h"

namespace smelt::codegen {

/// The tiling of a range of row counts beside those that it was preferred to, each with what the cost model and `times` say of it at
/// `rows` rows and, where `refusal` says why the product cannot take it, with that. A line each, the fastest first, below a line that
/// says where the times hold.
std::string gemmReasons(GemmShape shape, GemmPrecision precision, const Target &target,
                        llvm::ArrayRef<TilingTime> times, int64_t rows, const GemmChoice &chosen,
                        llvm::function_ref<std::string(const GemmChoice &)> refusal);

} // namespace smelt::codegen
