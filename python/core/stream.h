// The caller's streams.
#pragma once

#include <cstdint>
#include <nanobind/nanobind.h>
#include <optional>

namespace smelt::python {

/// A stream's handle: of an integer, or an object such as torch.cuda.Stream; nothing of None.
std::optional<std::uintptr_t> streamOf(nanobind::handle stream);

/// CUDA's name for a stream that each thread has of its own: two of this name need not be one.
inline constexpr std::uintptr_t kThreadStream = 2;

/// Whether work on both follows one order. CUDA has two names for the default stream, 0 and 1.
inline bool isSameStream(std::uintptr_t left, std::uintptr_t right) {
  auto isDefault = [](std::uintptr_t stream) { return stream < kThreadStream; };
  return (left == right && left != kThreadStream) || (isDefault(left) && isDefault(right));
}

} // namespace smelt::python
