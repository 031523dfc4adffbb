// Matrix product kernels (kernels/gemm/gemm.cuh, kernels/gemm/gemm_simt.cuh): the host's side.
#pragma once

#include "codegen/tunable.h"

namespace smelt::codegen {

/// The kernels of a `gemm` fusion: variants for ranges of rows, each with the tiling that suits it.
/// Products in f32 use true fp32 arithmetic unless `selection` has tf32. Reports at the fusion and fails where no
/// template takes it.
mlir::FailureOr<std::vector<KernelVariant>> emitGemm(FusionOp fusion, const Target &target,
                                                     const Selection &selection);

/// What may be measured of a `gemm` fusion: at most `most` tilings at each number of rows. Fails as emitGemm does.
mlir::FailureOr<TunableProduct> tunableGemm(FusionOp fusion, const Target &target, bool tf32,
                                            size_t most);

} // namespace smelt::codegen
