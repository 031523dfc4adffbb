// One graph through every stage of the compiler, each stage's result compared with the reference.
#pragma once

#include "tests/generate/drawing.h"

#include "codegen/nvrtc.h"

namespace smelt::generate {

/// What runs besides the interpreter: nothing, NVRTC over the kernels' text, or the plan on a GPU.
enum class Device { kCpu, kNone, kCuda };

struct JudgeOptions {
  Device device = Device::kNone;
  std::vector<std::string> architectures = {
      "sm_90a"};           ///< whose kernels are generated; the device's own on a device
  std::string cacheFolder; ///< of cubins; "" for none
  std::string nvrtcPath;
  bool assemblesKernels = true;   ///< else NVRTC only checks their text, without a device
  bool interpretsPhases = true;   ///< the module after every phase, not only the last
  std::string narrowTo;           ///< float32 becomes "f16" or "bf16" behind raise; "": it does not
  bool compilesUndecided = false; ///< a graph of which nothing can be said is compiled all the same
};

struct Failure {
  std::string
      stage; ///< "import", "interpret", "passes", "phase simplify", "codegen sm_90a", "nvrtc sm_90a", "run", ...
  std::string message;
};

/// The text of a kernel and the architecture that it is for.
struct PendingKernel {
  codegen::KernelText text;
  std::string architecture;
};

struct Outcome {
  std::optional<Failure> failure;
  std::string rejection; ///< why nothing can be said of the graph; "" where something was
  size_t kernels = 0;
  size_t comparisons = 0;
  /// What NVRTC is still to accept; empty on a device, where the whole plan was compiled.
  std::vector<PendingKernel> pending;

  bool agrees() const { return !failure && rejection.empty(); }
};

Outcome judge(const Graph &graph, const JudgeOptions &options);

/// Compiles what is pending, or only checks it, many kernels in one translation unit. Failures by
/// position in `kernels`.
std::vector<std::pair<size_t, std::string>>
compilePending(const codegen::Nvrtc &nvrtc, const std::vector<PendingKernel> &kernels,
               bool assembles);

} // namespace smelt::generate
