#include "runtime/mapped_file.h"

#include "runtime/text.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace smelt::runtime {

static Status unreadable(const std::string &path, const char *why) {
  return Status(StatusCode::kUsage, joinText(path, ": cannot be read: ", why));
}

/// Maps the regular file behind `descriptor`; an empty file gives an empty span.
static Result<std::span<const std::byte>> mapDescriptor(const std::string &path, int descriptor) {
  struct stat information;
  if (fstat(descriptor, &information) != 0)
    return unreadable(path, std::strerror(errno));
  if (!S_ISREG(information.st_mode))
    return unreadable(path, "it is not a regular file");
  size_t size = static_cast<size_t>(information.st_size);
  if (size == 0)
    return std::span<const std::byte>();
  void *address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (address == MAP_FAILED)
    return unreadable(path, std::strerror(errno));
  return std::span(static_cast<const std::byte *>(address), size);
}

Result<MappedFile> MappedFile::open(const std::string &path) {
  // Without O_NONBLOCK, opening a pipe waits for a writer.
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return unreadable(path, std::strerror(errno));
  Result<std::span<const std::byte>> mapped = mapDescriptor(path, descriptor);
  close(descriptor);
  if (!mapped.isOk())
    return mapped.status();
  return MappedFile(*mapped);
}

MappedFile::MappedFile(MappedFile &&other) noexcept : mapped(std::exchange(other.mapped, {})) {}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(mapped, other.mapped);
  return *this;
}

MappedFile::~MappedFile() {
  if (!mapped.empty())
    munmap(const_cast<std::byte *>(mapped.data()), mapped.size());
}

} // namespace smelt::runtime
