#include "tests/support/memory_file.h"

#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

namespace smelt::test {

MemoryFile::MemoryFile(std::span<const uint8_t> bytes) : descriptor(memfd_create("smelt", 0)) {
  if (descriptor < 0 ||
      write(descriptor, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    std::abort();
}

MemoryFile::~MemoryFile() { close(descriptor); }

std::string MemoryFile::path() const { return "/proc/self/fd/" + std::to_string(descriptor); }

} // namespace smelt::test
