#include "tools/smelt/load_plan.h"

namespace smelt::tools {

runtime::LoadProgressHandler shownOn(ProgressLine &line) {
  return [&line](const runtime::LoadProgress &progress) {
    llvm::StringRef phase = progress.phase;
    if (phase == "kernels")
      line.show("loading kernels", progress.done, progress.total);
    else
      line.showBytes(phase == "read" ? "reading the plan" : "uploading weights", progress.done,
                     progress.total);
    return true;
  };
}

Result<runtime::Plan> readPlan(const std::string &path) {
  ProgressLine line;
  return runtime::readPlan(path, shownOn(line));
}

} // namespace smelt::tools
