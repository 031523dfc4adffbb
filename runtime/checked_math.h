// Integer arithmetic that says when it overflows. All sizes go through here.
#pragma once

#include <cstdint>
#include <optional>

namespace smelt {

template <typename T> std::optional<T> checkedAdd(T left, T right) {
  T result;
  return __builtin_add_overflow(left, right, &result) ? std::nullopt : std::optional<T>(result);
}

template <typename T> std::optional<T> checkedSub(T left, T right) {
  T result;
  return __builtin_sub_overflow(left, right, &result) ? std::nullopt : std::optional<T>(result);
}

template <typename T> std::optional<T> checkedMul(T left, T right) {
  T result;
  return __builtin_mul_overflow(left, right, &result) ? std::nullopt : std::optional<T>(result);
}

/// The smallest multiple of `alignment` (a power of two) that is at least `value`.
inline std::optional<uint64_t> checkedAlign(uint64_t value, uint64_t alignment) {
  std::optional<uint64_t> raised = checkedAdd(value, alignment - 1);
  return raised ? std::optional<uint64_t>(*raised & ~(alignment - 1)) : std::nullopt;
}

/// Whether [offset, offset + size) lies within [0, total).
inline bool liesWithin(uint64_t offset, uint64_t size, uint64_t total) {
  return offset <= total && size <= total - offset;
}

} // namespace smelt
