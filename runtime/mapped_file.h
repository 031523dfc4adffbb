// A file mapped into memory, read-only.
#pragma once

#include "runtime/status.h"

#include <cstddef>
#include <span>
#include <string>

namespace smelt::runtime {

/// The mapping lives as long as the object. Shortening the file meanwhile makes reads of the lost
/// pages fatal, as for every mapped file.
class MappedFile {
public:
  /// Fails with kUsage when the path cannot be opened or is no regular file.
  static Result<MappedFile> open(const std::string &path);

  MappedFile() = default;
  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return mapped; }

private:
  explicit MappedFile(std::span<const std::byte> mapped) : mapped(mapped) {}

  std::span<const std::byte> mapped;
};

} // namespace smelt::runtime
