// Conversions between the floats of at most 8 bits and float32. They are storage only: all
// arithmetic is float32's.
#pragma once

#include "mlir/IR/Types.h"

#include <cstdint>
#include <optional>

namespace smelt {

/// A format of at most 8 bits: sign (but for scales), exponent and `mantissaBits` of mantissa. Its
/// codes lie in the low bits of a byte, whose other bits are 0.
struct SmallFloat {
  int bits;
  int mantissaBits;
  int bias;
  uint8_t largest;  ///< code of the largest number
  uint8_t overflow; ///< code of what is rounded beyond it
  uint8_t nan;      ///< code of NaN
  bool isScale;     ///< powers of two alone: neither sign nor zero
  bool hasOneNan;   ///< NaN is the code of -0, which is no number: neither has a sign

  /// None for types of more than 8 bits and for integers.
  static std::optional<SmallFloat> of(mlir::Type type);

  float decode(uint8_t code) const;
  /// Rounds to nearest, ties to even (scales: up). Beyond the largest number lie infinity, NaN, or
  /// nothing: `float4e2m1` keeps its largest number, and its NaN is -0.
  uint8_t encode(float value) const;

private:
  uint8_t encodeScale(uint32_t floatBits) const;
};

inline constexpr SmallFloat kFloat8E4M3FN = {8, 3, 7, 0x7e, 0x7f, 0x7f, false, false};
inline constexpr SmallFloat kFloat8E4M3FNUZ = {8, 3, 8, 0x7f, 0x80, 0x80, false, true};
inline constexpr SmallFloat kFloat8E5M2 = {8, 2, 15, 0x7b, 0x7c, 0x7e, false, false};
inline constexpr SmallFloat kFloat8E5M2FNUZ = {8, 2, 16, 0x7f, 0x80, 0x80, false, true};
inline constexpr SmallFloat kFloat4E2M1 = {4, 1, 1, 0x7, 0x7, 0x8, false, false};
inline constexpr SmallFloat kFloat8E8M0 = {8, 0, 127, 0xfe, 0xff, 0xff, true, false};

} // namespace smelt
