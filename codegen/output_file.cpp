#include "codegen/output_file.h"

#include "codegen/blocked_signals.h"
#include "codegen/unfinished_files.h"
#include "runtime/text.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace smelt::codegen {

static constexpr size_t kPendingBytes = 4 << 20;
static constexpr int kMaxNameAttempts = 1000;

/// The file that the symbolic links at `path` lead to, whether it exists or not.
static std::string resolveLinks(std::filesystem::path path) {
  constexpr int kMaxLinks = 40; // the kernel's own limit
  std::error_code error;
  for (int i = 0; i < kMaxLinks && std::filesystem::is_symlink(path, error); ++i)
    path = path.parent_path() / std::filesystem::read_symlink(path, error);
  return path.string();
}

/// Whether something that is no file stands at `path`: a device, a pipe, a folder.
static bool isSpecial(const std::string &path) {
  struct stat information;
  return stat(path.c_str(), &information) == 0 && !S_ISREG(information.st_mode);
}

Result<OutputFile> OutputFile::create(const std::string &path) {
  return isSpecial(path) ? openSpecial(path) : createBeside(path, resolveLinks(path));
}

Result<OutputFile> OutputFile::openSpecial(const std::string &path) {
  int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor >= 0)
    return OutputFile(path, "", descriptor);
  return Status(StatusCode::kResources,
                joinText(path, ": cannot be written: ", std::strerror(errno)));
}

/// A new file of that name, open for writing; negative, with errno, where there is none.
static int openUnfinished(const std::string &path) {
  UnfinishedFilesLock lock = lockUnfinishedFiles();
  int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor >= 0)
    addUnfinishedFile(path, lock);
  return descriptor;
}

Result<OutputFile> OutputFile::createBeside(const std::string &name, const std::string &path) {
  int error = 0;
  for (int attempt = 0; attempt < kMaxNameAttempts; ++attempt) {
    std::string temporaryPath = joinText(path, ".", getpid(), ".", attempt, ".tmp");
    int descriptor = openUnfinished(temporaryPath);
    if (descriptor >= 0)
      return OutputFile(path, std::move(temporaryPath), descriptor);
    error = errno;
    if (error != EEXIST && error != EINTR)
      break;
  }
  return Status(StatusCode::kResources,
                joinText(name, ": cannot create a file in its folder: ", std::strerror(error)));
}

OutputFile::OutputFile(std::string path, std::string temporaryPath, int descriptor)
    : path(std::move(path)), temporaryPath(std::move(temporaryPath)), descriptor(descriptor) {
  pending.reserve(kPendingBytes);
}

/// What became of it, without its thread.
static std::future<Status> settled(std::future<Status> &written) {
  if (!written.valid())
    return {};
  return std::async(std::launch::deferred, [status = written.get()] { return status; });
}

OutputFile::OutputFile(OutputFile &&other) noexcept
    : written(settled(other.written)), path(std::move(other.path)),
      temporaryPath(std::exchange(other.temporaryPath, {})),
      descriptor(std::exchange(other.descriptor, -1)), pending(std::move(other.pending)),
      flushedBytes(other.flushedBytes) {}

OutputFile::~OutputFile() {
  if (written.valid())
    written.wait();
  if (descriptor >= 0)
    close(descriptor);
  if (temporaryPath.empty())
    return;
  unlink(temporaryPath.c_str());
  finishFile(temporaryPath);
}

Status OutputFile::failure(const char *action, int error) const {
  return Status(StatusCode::kResources,
                joinText(path, ": ", action, " failed: ", std::strerror(error),
                         temporaryPath.empty() ? "" : "; nothing was left behind"));
}

Status OutputFile::writeAt(uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t written = pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == ESPIPE && offset == flushedBytes) // a pipe takes them in order
      written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return failure("writing", written < 0 ? errno : EIO);
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += static_cast<uint64_t>(written);
  }
  return {};
}

Status OutputFile::finishBehind() { return written.valid() ? written.get() : Status(); }

/// Has another thread write what is pending, where there is one and the place is known.
Status OutputFile::flushBehind() {
  if (temporaryPath.empty()) // a device or a pipe
    return flush();
  SMELT_RETURN_IF_ERROR(finishBehind());
  behind.swap(pending);
  pending.clear();
  pending.reserve(kPendingBytes);
  auto write = [this, offset = flushedBytes] { return writeAt(offset, behind); };
  flushedBytes += behind.size();
  BlockedSignals blocked;
  try {
    written = std::async(std::launch::async, write);
  } catch (const std::system_error &) {
    return write();
  }
  return {};
}

Status OutputFile::flush() {
  SMELT_RETURN_IF_ERROR(finishBehind());
  SMELT_RETURN_IF_ERROR(writeAt(flushedBytes, pending));
  flushedBytes += pending.size();
  pending.clear();
  return {};
}

Status OutputFile::append(std::span<const std::byte> bytes) {
  while (pending.size() + bytes.size() > kPendingBytes) {
    auto fitting = bytes.first(kPendingBytes - pending.size());
    pending.insert(pending.end(), fitting.begin(), fitting.end());
    bytes = bytes.subspan(fitting.size());
    SMELT_RETURN_IF_ERROR(flushBehind());
  }
  pending.insert(pending.end(), bytes.begin(), bytes.end());
  return {};
}

Status OutputFile::appendZeros(uint64_t count) {
  static constexpr std::array<std::byte, 4096> kZeros = {};
  for (; count > sizeof(kZeros); count -= sizeof(kZeros))
    SMELT_RETURN_IF_ERROR(append(kZeros));
  return append(std::span(kZeros).first(count));
}

bool OutputFile::isSeekable() const { return lseek(descriptor, 0, SEEK_CUR) >= 0; }

Status OutputFile::overwrite(uint64_t offset, std::span<const std::byte> bytes) {
  SMELT_RETURN_IF_ERROR(flush());
  return writeAt(offset, bytes);
}

/// Makes a rename in the folder of `path` durable. Not every file system can; the plan is whole
/// either way.
static void flushFolderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return;
  fsync(descriptor);
  close(descriptor);
}

Status OutputFile::publish(Durability durability) {
  SMELT_RETURN_IF_ERROR(flush());
  bool isFile = !temporaryPath.empty();
  bool isOnDisk = isFile && durability == Durability::kOnDisk;
  if (isOnDisk && fsync(descriptor) != 0)
    return failure("flushing to the disk", errno);
  if (close(std::exchange(descriptor, -1)) != 0)
    return failure("closing", errno);
  if (!isFile)
    return {};
  if (rename(temporaryPath.c_str(), path.c_str()) != 0)
    return failure("renaming the finished file", errno);
  finishFile(std::exchange(temporaryPath, {}));
  if (isOnDisk)
    flushFolderOf(path);
  return {};
}

Status writeText(const std::string &text, const std::string &path) {
  SMELT_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(path));
  SMELT_RETURN_IF_ERROR(file.append(std::as_bytes(std::span<const char>(text))));
  return file.publish();
}

} // namespace smelt::codegen
