// Which template runs a fusion.
#include "codegen/kernel.h"

#include "codegen/kernels/attention/attention.h"
#include "codegen/kernels/gemm/gemm.h"
#include "codegen/kernels/generic/generic.h"
#include "codegen/kernels/pointwise/pointwise.h"
#include "codegen/kernels/rowwise/rowwise.h"

using namespace mlir;

namespace smelt::codegen {

static FailureOr<std::vector<GeneratedKernel>> single(FailureOr<GeneratedKernel> kernel) {
  if (failed(kernel))
    return failure();
  return std::vector{std::move(*kernel)};
}

FailureOr<std::vector<GeneratedKernel>> selectKernels(FusionOp fusion, const Target &target,
                                                      bool tf32) {
  switch (fusion.getKind()) {
  case FusionKind::pointwise:
    return single(emitPointwise(fusion));
  case FusionKind::rowwise:
    return single(emitRowwise(fusion));
  case FusionKind::gemm:
    return emitGemm(fusion, target, tf32);
  case FusionKind::attention:
    return emitAttention(fusion, target);
  case FusionKind::generic:
    return single(emitGeneric(fusion));
  default:
    return fusion.emitError("no kernel template takes this fusion"), failure();
  }
}

} // namespace smelt::codegen
