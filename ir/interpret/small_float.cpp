#include "ir/interpret/small_float.h"

#include "mlir/IR/BuiltinTypes.h"

#include <bit>
#include <cmath>
#include <limits>

using namespace mlir;

namespace smelt {

static constexpr uint32_t kFloatInfinity = 0x7f800000u;

std::optional<SmallFloat> SmallFloat::of(Type type) {
  if (isa<Float8E4M3FNType>(type))
    return kFloat8E4M3FN;
  if (isa<Float8E4M3FNUZType>(type))
    return kFloat8E4M3FNUZ;
  if (isa<Float8E5M2Type>(type))
    return kFloat8E5M2;
  if (isa<Float8E5M2FNUZType>(type))
    return kFloat8E5M2FNUZ;
  if (isa<Float4E2M1FNType>(type))
    return kFloat4E2M1;
  if (isa<Float8E8M0FNUType>(type))
    return kFloat8E8M0;
  return std::nullopt;
}

float SmallFloat::decode(uint8_t code) const {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  if (isScale)
    return code == nan ? kNan : std::ldexp(1.0f, code - bias);
  int signBit = 1 << (bits - 1), magnitude = code & (signBit - 1);
  float sign = code & signBit ? -1.0f : 1.0f;
  if (hasOneNan && code == nan)
    return kNan;
  if (magnitude > largest) // E5M2 alone has an infinity, and more than one NaN
    return std::copysign(
        overflow != nan && magnitude == overflow ? std::numeric_limits<float>::infinity() : kNan,
        sign);
  int exponent = magnitude >> mantissaBits, fraction = magnitude - (exponent << mantissaBits);
  int whole = exponent == 0 ? 0 : 1 << mantissaBits;
  return sign * std::ldexp(static_cast<float>(whole + fraction),
                           std::max(exponent, 1) - bias - mantissaBits);
}

uint8_t SmallFloat::encode(float value) const {
  uint32_t floatBits = std::bit_cast<uint32_t>(value), magnitude = floatBits & 0x7fffffffu;
  if (isScale)
    return encodeScale(floatBits);
  bool isNan = magnitude > kFloatInfinity;
  uint32_t sign = (floatBits >> 31) << (bits - 1), code;
  if (isNan)
    return static_cast<uint8_t>(bits == 8 && !hasOneNan ? nan | sign : nan);
  int dropped = 23 - mantissaBits;
  if (magnitude < static_cast<uint32_t>(128 - bias) << 23) {
    // Below the smallest normal number: added to a number whose last bit is the format's smallest
    // step, the magnitude leaves its rounded code at the bottom.
    float base = std::ldexp(1.0f, 1 - bias - mantissaBits + 23);
    code = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + base) -
           std::bit_cast<uint32_t>(base);
  } else {
    uint32_t odd = (magnitude >> dropped) & 1u;
    code = ((magnitude + (1u << (dropped - 1)) - 1u + odd) >> dropped) -
           (static_cast<uint32_t>(127 - bias) << mantissaBits);
  }
  code = code > largest ? overflow : code;
  if (hasOneNan && (code == 0 || code == nan))
    return static_cast<uint8_t>(code);
  return static_cast<uint8_t>(code | sign);
}

uint8_t SmallFloat::encodeScale(uint32_t floatBits) const {
  constexpr uint32_t kSmallest = 0x00400000u; // 2^-127, a subnormal number of float32
  bool isPositive = floatBits != 0 && floatBits < kFloatInfinity;
  if (!isPositive)
    return nan;
  uint32_t exponent = floatBits >> 23, fraction = floatBits & 0x7fffffu;
  uint32_t halfway = exponent == 0 ? kSmallest + kSmallest / 2 : 1u << 22;
  return static_cast<uint8_t>(exponent + (fraction >= halfway));
}

} // namespace smelt
