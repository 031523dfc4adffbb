// What a tiling of the GEMM templates is called, in CUDA text and for people, and what else selection reads of it.
#pragma once

#include "codegen/kernels/gemm/gemm_choice.h"

namespace smelt::codegen {

/// `elementBytes`: of each operand.
GemmChoice describe(const GemmWgmmaTiling &t, int elementBytes);
GemmChoice describe(const GemmTmaTiling &t, int elementBytes);
GemmChoice describe(const GemmTiling &t, int elementBytes);
GemmChoice describe(const GemmSplitTiling &t);
GemmChoice describe(const GemmSimtTiling &t);

} // namespace smelt::codegen
