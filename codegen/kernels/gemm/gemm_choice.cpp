#include "codegen/kernels/gemm/gemm_choice.h"

#include "codegen/kernels/gemm/gemm_candidates.h"

#include "llvm/ADT/STLExtras.h"

#include <tuple>

namespace smelt::codegen {

std::vector<GemmChoice> rankGemmTilings(const GemmShape &shape, GemmPrecision precision,
                                        const Target &target, llvm::ArrayRef<TilingTime> times) {
  std::vector<GemmChoice> ranked;
  for (GemmCandidate &candidate : gemmCandidates(shape, precision, target, times)) {
    candidate.choice.microseconds = candidate.microseconds(shape.m);
    ranked.push_back(std::move(candidate.choice));
  }
  llvm::sort(ranked, [](const GemmChoice &a, const GemmChoice &b) {
    return std::tie(a.microseconds, a.config) < std::tie(b.microseconds, b.config);
  });
  return ranked;
}

} // namespace smelt::codegen
