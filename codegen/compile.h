// From a fused module to a plan file: kernel selection, NVRTC, arena, weights.
#pragma once

#include "codegen/byte_output.h"
#include "codegen/kernel.h"
#include "codegen/target.h"
#include "ir/refit.h"
#include "ir/weights.h"
#include "runtime/status.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace smelt::codegen {

struct CompileOptions {
  std::vector<std::string> architectures = {kDefaultArchitecture}; ///< repeated names count once
  std::string cacheDirectory;                                      ///< of kernels; empty: no cache
  std::string nvrtcPath;                                           ///< empty: search
  unsigned threads = 1;
  bool tf32 = false;              ///< tensor cores for fp32 products, at ten bits of mantissa
  const Tuning *tuning = nullptr; ///< Selection::tuning; what decided is kept in the plan
  std::string tiling;             ///< Selection::tiling
  std::string modelName;
  std::string ir; ///< of the module, which the plan keeps; "": it keeps none
  /// Of the model's file: the plan says what became of each.
  std::vector<ModelInitializer> initializers;
  /// Code of kernels by their entry, which is taken as it is: their text is not compiled.
  std::map<std::string, std::string> given;
  /// Called with kernels compiled so far and in all; false stops the compilation.
  std::function<bool(size_t done, size_t total)> progress;
  /// Called with the bytes of weights that were read, or drawn, and written so far and in all; false stops the compilation.
  std::function<bool(uint64_t done, uint64_t total)> weightProgress;
  /// Given what each kernel of an architecture became, by its entry, in the order of the launches.
  std::function<void(const std::string &architecture, const std::string &entry,
                     const CompiledKernel &kernel)>
      compiled;
  /// Told what begins, on any thread: a kernel's compilation, the plan's writing.
  std::function<void(const std::string &what)> begin;
};

/// A kernel, and which launches run it.
struct ListedKernel {
  GeneratedKernel kernel;
  std::vector<std::string> numbers; ///< plan::launchNumber(), in order, each once
  std::vector<std::string> why;     ///< GeneratedKernel::why of these launches, each once
};

/// Every distinct kernel for one architecture, in the order of the launches that run them first. Fails with
/// kInvalidModel where compileToPlan would for a fusion or a tensor.
Result<std::vector<ListedKernel>>
generateKernels(mlir::ModuleOp fused, const std::string &architecture, const Selection &selection);

/// Compiles a module in the fused form to the plan at `path`, atomically. Fails with kInvalidModel
/// where a fusion has no kernel or a weight is missing (diagnostics say which), kEnvironment
/// without NVRTC, kInternal where NVRTC refuses a kernel, kResources where the file cannot be
/// written or `progress` stopped it, kUsage for an unknown architecture.
Status compileToPlan(mlir::ModuleOp fused, WeightStore &weights, const CompileOptions &options,
                     const std::string &path);

/// The same to `output`, which holds nothing yet: the file's bytes.
Status compileToPlan(mlir::ModuleOp fused, WeightStore &weights, const CompileOptions &options,
                     ByteOutput &output);

} // namespace smelt::codegen
