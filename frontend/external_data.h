// Files that hold weights beside the model: opened only where they lie inside the model's folder,
// mapped, never copied.
#pragma once

#include "mlir/IR/Location.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>

namespace smelt::frontend {

/// A range of bytes in an external file, as a tensor's `external_data` entries name it.
struct ExternalRange {
  std::string file;
  uint64_t offset = 0;
  uint64_t length = 0;
};

class ExternalFiles {
public:
  /// `directory`: the model's folder. A file of another name than `..`-free paths below it is
  /// refused.
  explicit ExternalFiles(std::string directory) : directory(std::move(directory)) {}

  const std::string &directoryName() const { return directory; }

  /// The mapped file, or null where it does not exist. Fails, with a report at `location`, where
  /// the path is empty, absolute, leaves the folder (by `..` or a symbolic link), or names no
  /// regular file. A symbolic link is followed in one case, the layout of Hugging Face's cache:
  /// from `<root>/snapshots/...` to a file in `<root>/blobs`.
  mlir::FailureOr<std::shared_ptr<llvm::MemoryBuffer>> open(mlir::Location location,
                                                            llvm::StringRef file);

private:
  mlir::FailureOr<std::shared_ptr<llvm::MemoryBuffer>> map(mlir::Location location,
                                                           llvm::StringRef file);

  std::string directory;
  llvm::StringMap<std::shared_ptr<llvm::MemoryBuffer>> opened;
};

/// Checks that [offset, offset + length) lies inside `fileBytes`; reports at `location`.
mlir::LogicalResult checkRange(mlir::Location location, const ExternalRange &range,
                               uint64_t fileBytes);

} // namespace smelt::frontend
