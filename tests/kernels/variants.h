// The kernels that the tests instantiate: templates x configurations, as CUDA text.
#pragma once

#include <string>
#include <vector>

#include "codegen/kernels/gemm_config.cuh"

namespace smelt::kernel_tests {

/// Element type of a kernel's operands.
enum class Element { kHalf, kBfloat16, kFloat };

const char *elementName(Element element); // as in device text
int elementBytes(Element element);

/// A kernel's text and where it can run.
struct KernelText {
  std::string name, text;
  bool needsClusters = false;
};

/// A tensor-core GEMM. 0 in `n` and `k` means a size known at run time only.
struct GemmVariant {
  Element element = Element::kHalf;
  GemmTiling tiling{};
  int aVector = 8, bVector = 8, width = 8;
  bool bTransposed = false, bConstant = true;
  int n = 0, k = 0;

  KernelText kernel() const;
};

/// One shape that a variant is run with.
struct GemmShape {
  int m, n, k, batches;
};

struct GemmCase {
  GemmVariant variant;
  std::vector<GemmShape> shapes;
};

/// What is checked for correctness: every tiling, element type, layout, alignment and odd size.
std::vector<GemmCase> gemmChecks();

/// What is timed: the shapes of transformers, each with the tilings that may suit it.
std::vector<GemmCase> gemmTimings();

/// Text of the double-precision reference kernel for one element type.
KernelText gemmReferenceText(Element element);

/// Every kernel of the lists above, without duplicates.
std::vector<KernelText> allKernels(bool withTimings);

} // namespace smelt::kernel_tests
