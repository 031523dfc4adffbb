// Where the operands of a product lie, and the tensor maps that describe them.
#pragma once

#include "codegen/kernels/gemm/gemm_choice.h"
#include "codegen/kernels/gemm/gemm_product.h"
#include "codegen/kernels/gemm/gemm_windows.h"

namespace smelt::codegen {

struct GemmOperands {
  OperandAddress a, b;
  std::optional<MatrixLayout> matrixA, matrixB; ///< where tensor maps can describe them
  WindowsOrReason windows;                      ///< A, where it is no matrix

  bool haveTensorMaps() const { return (matrixA || windows.windows) && matrixB; }
};

/// Those of `product`; windows where `target` has a template that could take them.
mlir::FailureOr<GemmOperands> gemmOperands(GemmProduct &product, const Target &target);

/// Boxes of a tile of `choice`, as gemm_tma.cuh expects them, of operands that have maps.
TensorMap mapOfLeft(const GemmProduct &product, const GemmOperands &operands,
                    const GemmChoice &choice);
TensorMap mapOfRight(const GemmProduct &product, const GemmOperands &operands,
                     const GemmChoice &choice);

} // namespace smelt::codegen
