#include "tools/smelt/temporary_file.h"

#include "codegen/unfinished_files.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

namespace smelt::tools {

Result<TemporaryFile> TemporaryFile::create(const std::string &ending) {
  llvm::SmallString<128> path;
  codegen::UnfinishedFilesLock lock = codegen::lockUnfinishedFiles();
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("smelt", ending, path))
    return Status(StatusCode::kResources, "no temporary file can be created: " + error.message());
  codegen::addUnfinishedFile(path.str().str(), lock);
  return TemporaryFile(path.str().str());
}

TemporaryFile::~TemporaryFile() {
  if (file.empty())
    return;
  (void)llvm::sys::fs::remove(file);
  codegen::finishFile(file);
}

} // namespace smelt::tools
