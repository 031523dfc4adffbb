#include "compiler/build_plan.h"

#include "codegen/compile.h"
#include "compiler/fused_ir.h"

#include "llvm/Support/Path.h"

#include <algorithm>
#include <thread>

namespace smelt::compiler {

static codegen::CompileOptions compileOptions(Model &model, const PlanOptions &options) {
  codegen::CompileOptions result;
  result.architectures = options.architectures;
  result.cacheDirectory = options.cacheDirectory;
  result.nvrtcPath = options.nvrtcPath;
  result.threads = std::max(1u, std::thread::hardware_concurrency());
  result.tf32 = options.tf32;
  result.given = options.given;
  result.ir = fusedIr(model.module());
  result.tuning = options.tuning;
  result.initializers = model.initializers();
  result.modelName = llvm::sys::path::stem(model.path()).str();
  if (options.progress) {
    result.progress = [progress = options.progress](size_t done, size_t total) {
      return progress({"kernels", done, total});
    };
    result.weightProgress = [progress = options.progress](uint64_t done, uint64_t total) {
      return progress({"weights", done, total});
    };
  }
  result.compiled = options.compiled;
  result.begin = [&model](const std::string &what) { model.announce(what); };
  return result;
}

template <typename Target>
static Status build(Model &model, const PlanOptions &options, Target &target) {
  model.announce("choosing kernels");
  Status status = codegen::compileToPlan(model.module(), model.weights(),
                                         compileOptions(model, options), target);
  if (status.isOk() || model.diagnostics().problems().empty())
    return status;
  return model.diagnostics().asStatus(status.code(), "").within(status.message());
}

Status buildPlan(Model &model, const PlanOptions &options, const std::string &path) {
  return build(model, options, path);
}

Status buildPlan(Model &model, const PlanOptions &options, codegen::ByteOutput &output) {
  return build(model, options, output);
}

} // namespace smelt::compiler
