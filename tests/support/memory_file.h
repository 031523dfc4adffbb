// A file that is nowhere but in memory, for what takes a path.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace smelt::test {

/// Holds the bytes as long as it lives. Aborts where the system has no room for it.
class MemoryFile {
public:
  explicit MemoryFile(std::span<const uint8_t> bytes);
  ~MemoryFile();
  MemoryFile(const MemoryFile &) = delete;

  std::string path() const;

private:
  int descriptor;
};

} // namespace smelt::test
