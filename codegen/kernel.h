// What a kernel template's host side hands to the plan: one launch of one kernel for one fusion.
#pragma once

#include "codegen/nvrtc.h"
#include "codegen/target.h"
#include "ir/dialect.h"

#include <array>
#include <string>
#include <vector>

namespace smelt::codegen {

/// One parameter of a kernel, in the order of its signature.
struct KernelArgument {
  enum Kind { input, output, size } kind;
  unsigned index = 0; ///< of the fusion's inputs or outputs
  Dim value;          ///< size: passed as a 32-bit int

  static KernelArgument inputPointer(unsigned index) { return {input, index, Dim()}; }
  static KernelArgument outputPointer(unsigned index) { return {output, index, Dim()}; }
  static KernelArgument size32(Dim value) { return {size, 0, value}; }
};

/// A kernel with everything that its launch needs. Grid extents are Dims over size symbols; an
/// extent of zero for some shape leaves the launch out for that shape, which is how variants of one
/// fusion exclude each other.
struct GeneratedKernel {
  KernelText
      text; ///< `text.entry` must not depend on the layer, so that equal layers share a kernel
  std::string name; ///< for people: "gemm+bias+gelu 64x64x64"
  std::vector<KernelArgument> arguments;
  std::array<Dim, 3> grid;
  std::array<unsigned, 3> block = {1, 1, 1};
  std::array<unsigned, 3> cluster = {1, 1, 1};
  unsigned sharedBytes = 0;
  bool programmatic = true; ///< the kernel executes griddepcontrol.wait
  Dim bytes, flops; ///< device memory traffic that cannot be avoided; floating-point operations
};

/// The kernels that run `fusion`: usually one; several variants for ranges of sizes, of which
/// exactly one has a non-empty grid for a given shape. Reports at the fusion and fails where no
/// template takes it.
mlir::FailureOr<std::vector<GeneratedKernel>> selectKernels(FusionOp fusion, const Target &target,
                                                            bool tf32);

} // namespace smelt::codegen
