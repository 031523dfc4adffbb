// XXH3-128 over bytes at hand, or over bytes that arrive in pieces.
#pragma once

#include "runtime/plan_format.h"

#include <memory>
#include <span>

namespace smelt {

plan::Checksum checksumOf(std::span<const std::byte> bytes);

/// The checksum of a sequence of pieces; equal to checksumOf of their concatenation.
class ChecksumStream {
public:
  ChecksumStream();
  ~ChecksumStream();
  ChecksumStream(ChecksumStream &&) noexcept;
  ChecksumStream &operator=(ChecksumStream &&) noexcept;

  void add(std::span<const std::byte> bytes);
  plan::Checksum result() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace smelt
