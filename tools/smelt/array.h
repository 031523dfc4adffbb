// Tensors in host memory, as the command line reads, draws, compares and writes them.
#pragma once

#include "compiler/signature.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace smelt::tools {

using namespace compiler; // the command line speaks of what the library is made of

/// Row-major and contiguous. A bool is one byte, 0 or 1; of the small types, every element is one,
/// with its code in the low bits and 0 in the others.
struct Array {
  ElementType type = ElementType::f32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;

  /// Zeros. Fails with kUsage for a negative extent and kResources where the size overflows or
  /// cannot be had.
  static Result<Array> zeros(ElementType type, std::vector<int64_t> shape);

  size_t elementCount() const { return bytes.size() / plan::elementBytes(type); }
  /// The element's value; exact but for 64-bit integers beyond 2^53.
  double at(size_t index) const;
  /// Whether the element has the same bytes as that of an array of the same type.
  bool isSameAt(size_t index, const Array &other) const;
  /// Rounds to nearest for floats; truncates for integers; any non-zero value is true.
  void set(size_t index, double value);
};

bool isFloat(ElementType type);
/// Floats of at most 8 bits.
bool isSmallFloat(ElementType type);
/// Those, and the integers of 4 and 2 bits.
bool isSmall(ElementType type);
/// The bits of a byte that an element of a small type has.
uint8_t codeMask(ElementType type);

/// The extents' product times the element's bytes, or nothing where it overflows or an extent is
/// negative.
std::optional<uint64_t> byteCount(ElementType type, const std::vector<int64_t> &shape);

} // namespace smelt::tools
