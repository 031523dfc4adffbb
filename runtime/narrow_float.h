// float32 rounded to 16 bits, to nearest, ties to even.
#pragma once

#include <bit>
#include <cstdint>

namespace smelt::runtime {

inline uint16_t bfloat16Of(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) // NaN stays one
    return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

inline uint16_t halfOf(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  uint32_t sign = (bits >> 16) & 0x8000, magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000)
    return static_cast<uint16_t>(sign | 0x7E00);
  if (magnitude >= 0x477FF000) // 65520 and more round to infinity
    return static_cast<uint16_t>(sign | 0x7C00);
  // Of numbers below 2^-14, 0.5 has the same unit in the last place as they have in a half.
  if (magnitude < 0x38800000)
    return static_cast<uint16_t>(
        sign | (std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3F000000));
  return static_cast<uint16_t>(sign |
                               ((magnitude - 0x38000000 + 0xFFF + ((magnitude >> 13) & 1)) >> 13));
}

} // namespace smelt::runtime
