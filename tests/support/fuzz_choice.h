// How a fuzz target decides what its input does not spell, and what it says where a rule is broken.
#pragma once

#include "runtime/status.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

namespace smelt::test {

/// Choices that follow from the input alone, so that an input is all that a finding needs; every change of the input changes them.
class FuzzChoice {
public:
  explicit FuzzChoice(std::span<const uint8_t> input) {
    for (uint8_t byte : input) // FNV-1a
      state = (state ^ byte) * 0x100000001b3;
  }

  /// Less than `count`, which is positive.
  size_t below(size_t count) {
    state = state * 6364136223846793005 + 1442695040888963407;
    return static_cast<size_t>(state >> 33) % count;
  }
  template <typename T> T one(std::span<const T> of) { return of[below(of.size())]; }
  template <typename T, size_t N> T one(const T (&of)[N]) { return one(std::span<const T>(of)); }

private:
  uint64_t state = 0xcbf29ce484222325;
};

/// Ends the process, which is what a fuzzer takes for a finding, unless `holds`.
inline void require(bool holds, const std::string &what) {
  if (holds)
    return;
  std::fprintf(stderr, "broken rule: %s\n", what.c_str());
  std::abort();
}

/// A model's compilation succeeded, or the model is at fault, or what was said of it.
inline void requireReport(const Status &status) {
  require(status.isOk() || status.code() == StatusCode::kInvalidModel ||
              status.code() == StatusCode::kUsage || status.code() == StatusCode::kResources,
          status.message());
}

} // namespace smelt::test
