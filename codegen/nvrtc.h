// NVRTC, opened at run time: CUDA text to cubins or PTX, with no GPU and no CUDA library linked.
//
// The device headers are handed over by include name, so that messages name file and line. What the
// assembler says about a kernel decides whether it is kept: a serialised wgmma or an ignored
// setmaxnreg fails the build of that kernel, for each means that the template was instantiated with
// a configuration that it was not made for. A kernel that spills registers is right, but slow: the
// caller learns by how much.
#pragma once

#include "codegen/cache.h"
#include "codegen/embedded_headers.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace smelt::codegen {

/// One kernel: complete CUDA text that includes device headers by name and defines `extern "C"
/// __global__ entry`.
struct KernelText {
  std::string entry;
  std::string text;
  std::string description; ///< for messages: the fusion and its ONNX nodes
  bool maySpill = false;   ///< a generic kernel, of which nobody expects that it does not
};

class Nvrtc {
public:
  /// Opens NVRTC: `path` (a file or a folder) where given, else beside the running binary, in the
  /// folders of pip's wheels, through the loader, in the CUDA toolkit. The error lists every place
  /// that was tried.
  static llvm::Expected<std::unique_ptr<Nvrtc>> open(llvm::StringRef path);
  ~Nvrtc();

  /// "13.0"
  std::string version() const;

  /// Compiles one text for `architecture`: to a cubin for sm_90a, sm_80, ..., to PTX for compute_80.
  /// Thread-safe. The error holds the compiler's log.
  llvm::Expected<CompiledKernel> compile(const KernelText &kernel,
                                         llvm::StringRef architecture) const;

  /// The same with the device headers that lie in the folder `headers` instead of Smelt's own.
  llvm::Expected<CompiledKernel> compileWithHeaders(const KernelText &kernel,
                                                    llvm::StringRef architecture,
                                                    llvm::StringRef headers) const;

  /// What compile() gives NVRTC, as a command line.
  static std::string flags(llvm::StringRef architecture);

  /// Whether NVRTC takes the text for `architecture`, sm_90a, sm_80, ...: as compile(), but hardly
  /// optimised and not assembled, in a third of the time. Not beside a compile() in another thread:
  /// NVRTC 13.0 lets the lower optimisation leak into it, and registers spill.
  llvm::Error check(const KernelText &kernel, llvm::StringRef architecture) const;

private:
  struct Library;
  explicit Nvrtc(std::unique_ptr<Library> library);
  llvm::Expected<CompiledKernel> compile(const KernelText &kernel, llvm::StringRef architecture,
                                         std::span<const EmbeddedHeader> headers,
                                         llvm::ArrayRef<const char *> moreFlags) const;

  std::unique_ptr<Library> library;
};

/// Compiles `kernels` for one architecture on `threads` threads, taking from `cache` what it has
/// and storing what is new. Equal texts are compiled once. `begin` is called before each, and `progress(done, total)` after
/// each, by whichever thread compiled it, never by two at once; where it says false, no further
/// kernel is begun, and the call fails. On failure the error joins the
/// messages of all kernels that failed.
llvm::Expected<std::vector<CompiledKernel>>
compileKernels(const Nvrtc &nvrtc, const KernelCache &cache, llvm::ArrayRef<KernelText> kernels,
               llvm::StringRef architecture, unsigned threads,
               llvm::function_ref<bool(size_t done, size_t total)> progress = nullptr,
               llvm::function_ref<void(const KernelText &)> begin = nullptr);

} // namespace smelt::codegen
