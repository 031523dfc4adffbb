// From a fused model to a plan file.
#pragma once

#include "codegen/byte_output.h"
#include "codegen/cache.h"
#include "codegen/target.h"
#include "codegen/tuning.h"
#include "compiler/model.h"

#include <map>

namespace smelt::compiler {

struct PlanOptions {
  std::vector<std::string> architectures = {codegen::kDefaultArchitecture};
  /// float32 products on tensor cores, at ten bits of mantissa.
  bool tf32 = false;
  /// codegen::CompileOptions::tuning.
  const codegen::Tuning *tuning = nullptr;
  std::string cacheDirectory; ///< of compiled kernels; "": no cache
  std::string nvrtcPath;      ///< file or folder; "": search
  /// codegen::CompileOptions::given.
  std::map<std::string, std::string> given;
  ProgressHandler progress;
  /// codegen::CompileOptions::compiled.
  std::function<void(const std::string &architecture, const std::string &entry,
                     const codegen::CompiledKernel &kernel)>
      compiled;
};

/// Compiles a model after Model::fuse() to the plan at `path`. Fails as codegen::compileToPlan
/// does, with the diagnostics in the message.
Status buildPlan(Model &model, const PlanOptions &options, const std::string &path);

/// The same to `output`, which holds nothing yet.
Status buildPlan(Model &model, const PlanOptions &options, codegen::ByteOutput &output);

} // namespace smelt::compiler
