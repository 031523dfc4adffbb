// Containment is the kernel's business where it can be: openat2 resolves the path below the model's
// folder and refuses every symbolic link, so that nothing can be exchanged between a check and the
// opening. Kernels without openat2 (before 5.6, or a filter that blocks it) get the same walk, one
// component at a time.
#include "frontend/external_data.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace mlir;

namespace smelt::frontend {

namespace {

/// Opens `file` below `directory`, component by component, without following links. -1 and errno on
/// failure.
int openWalking(int directory, StringRef file) {
  int current = fcntl(directory, F_DUPFD_CLOEXEC, 0);
  SmallVector<StringRef> components;
  file.split(components, '/', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (auto [index, component] : llvm::enumerate(components)) {
    bool last = index + 1 == components.size();
    int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (last ? 0 : O_DIRECTORY);
    int next = current < 0 ? -1 : openat(current, component.str().c_str(), flags);
    int error = errno;
    if (current >= 0)
      close(current);
    if (next < 0)
      return errno = error, -1;
    current = next;
  }
  return current;
}

int openBeneath(int directory, StringRef file) {
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  long descriptor = syscall(SYS_openat2, directory, file.str().c_str(), &how, sizeof(how));
  if (descriptor >= 0 || (errno != ENOSYS && errno != EPERM))
    return static_cast<int>(descriptor);
  return openWalking(directory, file);
}

/// `path` is `root` or lies below it; both are resolved.
bool isBelow(StringRef path, StringRef root) {
  return path.consume_front(root) && (path.empty() || path.front() == '/');
}

/// The target of a link in the layout <root>/snapshots/<revision>/file -> <root>/blobs/<hash>;
/// empty elsewhere.
std::string cacheBlob(StringRef directory, StringRef file) {
  SmallString<256> folder, target, path(directory);
  llvm::sys::path::append(path, file);
  if (llvm::sys::fs::real_path(directory, folder) || llvm::sys::fs::real_path(path, target))
    return "";
  size_t snapshots = folder.str().rfind("/snapshots/");
  if (snapshots == StringRef::npos)
    return "";
  std::string blobs = folder.str().take_front(snapshots).str() + "/blobs";
  return isBelow(target, blobs) ? target.str().str() : "";
}

LogicalResult checkPath(Location location, StringRef file) {
  if (file.empty())
    return emitError(location) << "names no external file: its 'location' is empty";
  if (file.contains('\0'))
    return emitError(location) << "names an external file with a zero byte in its path";
  if (llvm::sys::path::is_absolute(file))
    return emitError(location) << "names the external file '" << file
                               << "' by an absolute path; it must lie in the model's folder";
  for (StringRef component : llvm::split(file, '/'))
    if (component == "..")
      return emitError(location) << "names the external file '" << file
                                 << "', which leaves the model's folder by '..'";
  return success();
}

} // namespace

FailureOr<std::shared_ptr<llvm::MemoryBuffer>> ExternalFiles::open(Location location,
                                                                   StringRef file) {
  auto known = opened.find(file);
  if (known != opened.end())
    return known->second;
  if (failed(checkPath(location, file)))
    return failure();
  auto mapped = map(location, file);
  if (succeeded(mapped))
    opened[file] = *mapped;
  return mapped;
}

FailureOr<std::shared_ptr<llvm::MemoryBuffer>> ExternalFiles::map(Location location,
                                                                  StringRef file) {
  int folder = ::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0)
    return emitError(location) << "cannot open the model's folder '" << directory
                               << "': " << std::strerror(errno);
  int descriptor = openBeneath(folder, file);
  int error = errno;
  close(folder);
  if (descriptor < 0 && error == ELOOP) {
    std::string blob = cacheBlob(directory, file);
    if (blob.empty())
      return emitError(location)
             << "the external file '" << file
             << "' is a symbolic link or lies behind one; it must lie in the model's folder itself";
    descriptor = ::open(blob.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    error = errno;
  }
  if (descriptor < 0 && (error == ENOENT || error == ENOTDIR))
    return std::shared_ptr<llvm::MemoryBuffer>();
  if (descriptor < 0)
    return emitError(location) << "cannot open the external file '" << file
                               << "': " << std::strerror(error);
  llvm::scope_exit closeFile([&] { close(descriptor); });
  struct stat status;
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode))
    return emitError(location) << "the external file '" << file << "' is no regular file";
  auto buffer = llvm::MemoryBuffer::getOpenFile(descriptor, file, status.st_size,
                                                /*RequiresNullTerminator=*/false);
  if (!buffer)
    return emitError(location) << "cannot map the external file '" << file
                               << "': " << buffer.getError().message();
  return std::shared_ptr<llvm::MemoryBuffer>(std::move(*buffer));
}

LogicalResult checkRange(Location location, const ExternalRange &range, uint64_t fileBytes) {
  if (range.offset <= fileBytes && range.length <= fileBytes - range.offset)
    return success();
  return emitError(location) << "needs " << range.length << " bytes at offset " << range.offset
                             << " of the external file '" << range.file << "', which has only "
                             << fileBytes;
}

} // namespace smelt::frontend
