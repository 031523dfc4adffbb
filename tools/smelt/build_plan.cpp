#include "tools/smelt/build_plan.h"

#include "codegen/compile.h"
#include "codegen/remove_on_signal.h"
#include "runtime/text.h"
#include "tools/smelt/environment.h"
#include "tools/smelt/report.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <algorithm>
#include <thread>

namespace smelt::tools {

Status buildPlan(Model &model, const BuildFlags &flags, const std::string &path) {
  Progress progress;
  codegen::CompileOptions options;
  options.architectures = flags.architectures;
  options.cacheDirectory = cacheDirectory();
  options.nvrtcPath = nvrtcPath();
  options.threads = std::max(1u, std::thread::hardware_concurrency());
  options.tf32 = flags.tf32;
  options.modelName = llvm::sys::path::stem(model.path()).str();
  options.progress = [&](size_t done, size_t total) {
    progress.show(joinText("compiling kernels: ", done, " of ", total));
  };
  Status status = codegen::compileToPlan(model.module(), model.weights(), options, path);
  if (status.isOk() || model.diagnostics().problems().empty())
    return status;
  return model.diagnostics().asStatus(status.code(), "").within(status.message());
}

Result<TemporaryFile> TemporaryFile::create(const std::string &ending) {
  llvm::SmallString<128> path;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("smelt", ending, path))
    return Status(StatusCode::kResources, "no temporary file can be created: " + error.message());
  codegen::removeOnSignal(path.str().str());
  return TemporaryFile(path.str().str());
}

TemporaryFile::~TemporaryFile() {
  if (file.empty())
    return;
  (void)llvm::sys::fs::remove(file);
  codegen::keepOnSignal(file);
}

} // namespace smelt::tools
