// How far a compilation is, and whether it should go on.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace smelt::compiler {

struct Progress {
  /// "import", "simplify", "raise", "narrow", "fuse", "lower", "kernels", "weights", in this order; "narrow"
  /// is for models that are narrowed, "weights" their reading and writing.
  std::string_view phase;
  /// Steps of the phase that are done, of how many: phases but "narrow" and "kernels" have one, and "weights" counts bytes.
  size_t done;
  size_t total;
};

/// Called whenever a step is done, on any thread, never by two at once. False stops the
/// compilation: it fails with kResources and leaves no file behind.
using ProgressHandler = std::function<bool(const Progress &)>;

/// Told what begins, of what may take long, on any thread: "importing model.onnx", "running the pass
/// smelt-fuse-gemm", "compiling the kernel gemm of /layer.0/MatMul for sm_90a".
using ActivityHandler = std::function<void(const std::string &)>;

} // namespace smelt::compiler
