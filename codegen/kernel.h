// What a kernel template's host side hands to the plan.
//
// A fusion has one or more variants, each for a range of sizes. A variant is a sequence of launches
// that follow each other, with scratch buffers that live for its duration. A launch is a kernel, a
// memory copy or a memory set.
#pragma once

#include "codegen/nvrtc.h"
#include "codegen/target.h"
#include "codegen/tuning.h"
#include "ir/dialect.h"
#include "runtime/plan_format.h"

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace smelt::codegen {

/// Device memory that a launch addresses: an input or result of the fusion, or scratch.
struct LaunchBuffer {
  enum Kind { input, output, scratch } kind = input;
  unsigned index = 0; ///< of the fusion's inputs or results, or of KernelVariant::scratch
  Dim offset = {};    ///< bytes from the start; empty: 0
};

/// Windows of images, of which a copy brings the pixels that one tap meets (cuTensorMapEncodeIm2col).
/// Corners, for each axis between the channels and the images, innermost first: of the box of the pixels
/// that a window's first tap meets, from the first pixel and from the last one.
struct PixelWindows {
  unsigned channels, pixels; ///< that one copy moves
  llvm::SmallVector<int> lowerCorner, upperCorner;
};

/// A tensor as the tensor memory accelerator sees it (cuTensorMapEncodeTiled). Axes lie innermost
/// first. The driver's limits hold: 1 to 5 axes; strides that are multiples of 16 bytes; boxes of
/// up to 256 elements an axis; buffers aligned to 16 bytes (all are).
struct TensorMap {
  LaunchBuffer buffer;
  mlir::Type elementType;
  llvm::SmallVector<Dim> sizes;
  llvm::SmallVector<Dim> byteStrides; ///< of every axis but the innermost
  llvm::SmallVector<unsigned> box; ///< elements that one copy moves along each axis; or `windows`
  llvm::SmallVector<unsigned> elementStrides = {}; ///< empty: all 1
  plan::Interleave interleave = plan::Interleave::none;
  plan::Swizzle swizzle = plan::Swizzle::none;
  plan::L2Promotion l2Promotion = plan::L2Promotion::bytes_128;
  bool fillsNan = false; ///< what lies outside reads as NaN instead of 0
  std::optional<PixelWindows> windows = {};
};

/// One parameter of a kernel, in the order of its signature.
struct KernelArgument {
  /// An address.
  struct Pointer {
    LaunchBuffer buffer;
  };
  /// A signed integer of 32 or 64 bits; where 32 do not hold the value, the shape is refused.
  struct Size {
    Dim value;
    bool is64 = false;
  };
  /// A struct by value, the same for all shapes.
  struct Bytes {
    std::vector<uint8_t> bytes;
  };
  /// An int: 1 where the kernel shall start with the last of its rows, else 0 (device/direction.cuh). Program
  /// builders choose.
  struct Direction {};
  std::variant<Pointer, Size, Bytes, TensorMap, Direction> held;

  static KernelArgument pointer(LaunchBuffer buffer) { return {Pointer{buffer}}; }
  static KernelArgument inputPointer(unsigned index) {
    return pointer({LaunchBuffer::input, index});
  }
  static KernelArgument outputPointer(unsigned index) {
    return pointer({LaunchBuffer::output, index});
  }
  static KernelArgument scratchPointer(unsigned index) {
    return pointer({LaunchBuffer::scratch, index});
  }
  static KernelArgument size32(Dim value) { return {Size{value}}; }
  static KernelArgument size64(Dim value) { return {Size{value, true}}; }
  static KernelArgument direction() { return {Direction{}}; }
  static KernelArgument bytes(std::vector<uint8_t> bytes) { return {Bytes{std::move(bytes)}}; }
  /// A parameter `const __grid_constant__ CUtensorMap`, aligned to 64 bytes.
  static KernelArgument tensorMap(TensorMap map) { return {std::move(map)}; }
};

/// A kernel with everything that its launch needs. Nothing is launched for shapes at which an
/// extent of the grid is 0.
struct GeneratedKernel {
  KernelText
      text; ///< `text.entry` must not depend on the layer, so that equal layers share a kernel
  std::string name; ///< for people: "gemm+bias+gelu 64x64x64"
  std::string why =
      {}; ///< for people, in lines: why this configuration and none of the others; "" without a choice
  std::vector<KernelArgument> arguments;
  std::array<Dim, 3> grid;
  std::array<unsigned, 3> block = {1, 1, 1};
  std::array<unsigned, 3> cluster = {1, 1, 1};
  unsigned sharedBytes = 0;
  bool programmatic = true; ///< the kernel executes griddepcontrol.wait
  std::string tunedBy =
      {}; ///< the product's key, where times in a Tuning decided; "" where the model alone did
  plan::Arithmetic arithmetic = plan::Arithmetic::float32; ///< of the flops
  Dim bytes, flops; ///< device memory traffic that cannot be avoided; floating-point operations
};

/// Copies `bytes` bytes between places that do not overlap.
struct MemoryCopy {
  LaunchBuffer target, source;
  Dim bytes;
};

/// Sets each of `bytes` bytes to `value`.
struct MemorySet {
  LaunchBuffer target;
  uint8_t value = 0;
  Dim bytes;
};

using GeneratedLaunch = std::variant<GeneratedKernel, MemoryCopy, MemorySet>;

/// Sizes at which a variant runs: first <= value <= last, "33 to 256 rows".
struct SizeRule {
  Dim value; ///< empty: at all sizes
  int64_t first = 0;
  int64_t last = std::numeric_limits<int64_t>::max();
  std::string unit = {}; ///< of the value, for people

  std::string describe() const;
};

/// Device memory for the duration of one variant's launches, aligned to 256 bytes.
struct ScratchBuffer {
  Dim bytes;
};

/// One way to run a fusion. Each launch starts when the one before it has completed.
struct KernelVariant {
  SizeRule rule = {};
  std::vector<ScratchBuffer> scratch = {};
  std::vector<GeneratedLaunch> launches;
  /// Results that kernels add to: the plan sets them to 0 before its first kernel, at all sizes.
  llvm::SmallVector<unsigned> clearedResults = {};
};

/// What decides about a fusion's kernels, beside the fusion and the target.
struct Selection {
  bool tf32 = false;              ///< tensor cores for fp32 products, at ten bits of mantissa
  const Tuning *tuning = nullptr; ///< decides on its architecture; null: the models do
  std::string tiling = {};        ///< of every product, by its name, at all sizes; "": it is chosen
};

/// The variants that run `fusion`, usually one; where there are several, the first whose rule holds
/// runs, and for every shape there is one. Reports at the fusion and fails where no template takes
/// it.
mlir::FailureOr<std::vector<KernelVariant>> selectKernels(FusionOp fusion, const Target &target,
                                                          const Selection &selection);

/// The kernels among the launches of all variants, in order.
std::vector<const GeneratedKernel *> kernelsOf(llvm::ArrayRef<KernelVariant> variants);

} // namespace smelt::codegen
