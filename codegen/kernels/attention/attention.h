// Attention kernels (kernels/attention/attention.cuh, kernels/attention/attention_simt.cuh): the host's side.
#pragma once

#include "codegen/kernel.h"

namespace smelt::codegen {

/// The kernels of an `attention` fusion: variants for short and for long sequences. Reports at the
/// fusion why no template takes it and fails.
mlir::FailureOr<std::vector<KernelVariant>> emitAttention(FusionOp fusion, const Target &target);

/// Whether kernels read of this tensor, a function's or an argument of a fusion's block, only rows of keys
/// and values of attentions. They reach those in 64 bits: it may have more elements than
/// DimPrinter::kMaxElements.
bool isReadAsKeys(mlir::Value tensor);

} // namespace smelt::codegen
