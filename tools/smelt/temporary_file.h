// A plan that nobody asked to keep.
#pragma once

#include "runtime/status.h"

#include <string>

namespace smelt::tools {

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
