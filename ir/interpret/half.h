// Conversions between 16-bit floats and wider ones: branch-free where that lets loops over them
// vectorise.
#pragma once

#include <bit>
#include <cstdint>

// Always inlined: code for several instruction set levels includes this file (see
// simd_kernels.cpp).
#define SMELT_INLINE [[gnu::always_inline]] inline

namespace smelt {

/// Exact; subnormals, infinities and NaN included.
SMELT_INLINE float halfToFloat(uint16_t half) {
  uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16, magnitude = half & 0x7fffu;
  // The exponent field moved into place is short of the bias by 112; a product with 2^112 also
  // normalises subnormals.
  float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  uint32_t bits = std::bit_cast<uint32_t>(scaled) | (magnitude >= 0x7c00u ? 0x7f800000u : 0u);
  return std::bit_cast<float>(bits | sign);
}

SMELT_INLINE float bfloat16ToFloat(uint16_t value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value) << 16);
}

/// Rounds to nearest, ties to even; beyond the largest half the result is infinite.
SMELT_INLINE uint16_t floatToHalf(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value), magnitude = bits & 0x7fffffffu;
  uint32_t sign = (bits >> 16) & 0x8000u, rounded;
  if (magnitude > 0x7f800000u)
    rounded = 0x7e00u;
  else if (magnitude >= 0x477ff000u) // 65520, halfway past the largest half
    rounded = 0x7c00u;
  else if (magnitude < 0x38800000u) // below 2^-14: adding 0.5 leaves the subnormal's bits, rounded,
                                    // at the bottom
    rounded = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  else
    rounded = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - (112u << 23)) >> 13;
  return static_cast<uint16_t>(sign | rounded);
}

/// Rounds to nearest, ties to even.
SMELT_INLINE uint16_t floatToBfloat16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

/// A float from which a second rounding to 16 bits gives what one rounding of `value` would:
/// inexact results are made odd.
SMELT_INLINE float doubleToOddFloat(double value) {
  float nearest = static_cast<float>(value);
  double error = value - static_cast<double>(nearest);
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  bool finite = (bits & 0x7f800000u) != 0x7f800000u;
  if (!finite || error == 0.0 || (bits & 1u))
    return nearest;
  // Step towards the exact value: away from zero grows the magnitude bits by one.
  bool away = (error > 0) == (value > 0);
  return std::bit_cast<float>(away ? bits + 1 : bits - 1);
}

SMELT_INLINE uint16_t doubleToHalf(double value) { return floatToHalf(doubleToOddFloat(value)); }
SMELT_INLINE uint16_t doubleToBfloat16(double value) {
  return floatToBfloat16(doubleToOddFloat(value));
}

} // namespace smelt

#undef SMELT_INLINE
