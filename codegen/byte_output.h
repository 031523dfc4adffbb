// Bytes in order, of which some are written again at the end: a file, or memory.
#pragma once

#include "runtime/status.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace smelt::codegen {

class ByteOutput {
public:
  virtual ~ByteOutput() = default;
  virtual Status append(std::span<const std::byte> bytes) = 0;
  virtual Status appendZeros(uint64_t count) = 0;
  /// Replaces bytes that were appended before.
  virtual Status overwrite(uint64_t offset, std::span<const std::byte> bytes) = 0;
  /// Bytes appended so far.
  virtual uint64_t size() const = 0;
};

/// In memory; throws std::bad_alloc where there is none left.
class ByteBuffer : public ByteOutput {
public:
  Status append(std::span<const std::byte> bytes) override {
    held.insert(held.end(), bytes.begin(), bytes.end());
    return {};
  }
  Status appendZeros(uint64_t count) override {
    held.resize(held.size() + count);
    return {};
  }
  Status overwrite(uint64_t offset, std::span<const std::byte> bytes) override {
    std::copy(bytes.begin(), bytes.end(), held.begin() + static_cast<ptrdiff_t>(offset));
    return {};
  }
  uint64_t size() const override { return held.size(); }

  std::vector<std::byte> take() { return std::move(held); }

private:
  std::vector<std::byte> held;
};

} // namespace smelt::codegen
