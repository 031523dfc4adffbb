// From a fused model to a plan file.
#pragma once

#include "tools/smelt/model.h"

namespace smelt::tools {

struct BuildFlags {
  std::vector<std::string> architectures;
  bool tf32 = false;
};

/// Compiles a model after Model::fuse() to the plan at `path`, with progress on stderr and kernels
/// from the cache. Fails as codegen::compileToPlan does, with the diagnostics in the message.
Status buildPlan(Model &model, const BuildFlags &flags, const std::string &path);

/// A file name in the system's folder for temporary files that is removed with the object, and when
/// a signal ends the process.
class TemporaryFile {
public:
  static Result<TemporaryFile> create(const std::string &ending);
  TemporaryFile(TemporaryFile &&other) noexcept : file(std::move(other.file)) {
    other.file.clear();
  }
  TemporaryFile &operator=(TemporaryFile &&) = delete;
  ~TemporaryFile();

  const std::string &path() const { return file; }

private:
  explicit TemporaryFile(std::string file) : file(std::move(file)) {}

  std::string file;
};

} // namespace smelt::tools
