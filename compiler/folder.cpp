#include "compiler/folder.h"

#include "runtime/text.h"

#include "llvm/Support/FileSystem.h"

namespace smelt::compiler {

Status createFolder(const std::string &path) {
  namespace fs = llvm::sys::fs;
  if (std::error_code error = fs::create_directories(path, true, fs::perms::all_all))
    return Status(StatusCode::kResources, joinText(path, ": cannot be created: ", error.message()));
  return {};
}

} // namespace smelt::compiler
