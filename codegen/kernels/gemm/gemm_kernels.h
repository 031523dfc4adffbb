// The kernels of a product: a template, the text around it, and the launch.
#pragma once

#include "codegen/cuda_text.h"
#include "codegen/kernel.h"
#include "codegen/kernels/gemm/gemm_epilogue.h"
#include "codegen/kernels/gemm/gemm_operands.h"

namespace smelt::codegen {

/// Writes them, one for each tiling, while what it is given lives.
class GemmKernels {
public:
  GemmKernels(const GemmProduct &product, const GemmOperands &operands,
              const GemmEpilogue &epilogue, GemmPrecision precision, const Target &target)
      : product(product), a(operands.a), b(operands.b), operands(operands), epilogue(epilogue),
        precision(precision), target(target) {}

  GeneratedKernel emit(const GemmChoice &choice) const;
  /// Of the text without a tiling: what it computes, in which order, and where everything lies.
  std::string key() const;

private:
  std::string addressText(const OperandAddress &operand, DimPrinter &printer) const;
  std::string partsText() const;
  std::string constants() const;
  std::string textOf(const GemmChoice &choice, std::set<std::string> &used) const;
  std::string typeOfLeft(const GemmChoice &choice) const;
  std::string wayOfLeft(const GemmChoice &choice) const;
  GeneratedKernel launch(const GemmChoice &choice) const;

  const GemmProduct &product;
  const OperandAddress &a, &b;
  const GemmOperands &operands;
  const GemmEpilogue &epilogue;
  GemmPrecision precision;
  const Target &target;
};

/// Whether the launch should wait until the one before it has left the GPU.
bool needsAllMultiprocessors(const GemmProduct &product, const GemmChoice &choice);

} // namespace smelt::codegen
