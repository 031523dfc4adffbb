// device/small_types.cuh on the host: every code of each type, and floats of every exponent with many
// mantissas, become what the interpreter makes of them.
#include <bit>
#include <cmath>
#include <cstdint>

#ifndef __device__
#define __device__
#define __forceinline__ inline
#endif

inline float __uint_as_float(uint32_t bits) { return std::bit_cast<float>(bits); }
inline uint32_t __float_as_uint(float value) { return std::bit_cast<uint32_t>(value); }

#include "device/small_types.cuh"
#include "ir/interpret/small_float.h"

#include <gtest/gtest.h>

namespace smelt {
namespace {

template <class Device> void compareWith(const SmallFloat &format) {
  for (unsigned code = 0; code < 1u << format.bits; ++code) {
    float expected = format.decode(static_cast<uint8_t>(code)),
          actual = SmallType<Device>::decode({static_cast<uint8_t>(code)});
    ASSERT_EQ(std::isnan(actual), std::isnan(expected)) << code;
    if (!std::isnan(expected))
      ASSERT_EQ(std::bit_cast<uint32_t>(actual), std::bit_cast<uint32_t>(expected)) << code;
  }
  // The upper 17 bits take all values; of the lower ones, the ends are ties and their neighbours.
  for (uint32_t high = 0; high < 1u << 17; ++high)
    for (uint32_t low : {0u, 1u, 0x3fffu, 0x4000u, 0x4001u, 0x7fffu}) {
      float value = std::bit_cast<float>(high << 15 | low);
      ASSERT_EQ(SmallType<Device>::encode(value).code, format.encode(value)) << value;
    }
}

TEST(SmallTypes, FloatsAreTheInterpreters) {
  compareWith<f8e4m3fn>(kFloat8E4M3FN);
  compareWith<f8e4m3fnuz>(kFloat8E4M3FNUZ);
  compareWith<f8e5m2>(kFloat8E5M2);
  compareWith<f8e5m2fnuz>(kFloat8E5M2FNUZ);
  compareWith<f4e2m1>(kFloat4E2M1);
  compareWith<f8e8m0>(kFloat8E8M0);
}

TEST(SmallTypes, IntegersKeepTheirLowBits) {
  for (int value = -20; value <= 20; ++value) {
    EXPECT_EQ(SmallType<u4>::decode(SmallType<u4>::encode(value)), value & 15);
    EXPECT_EQ(SmallType<u2>::decode(SmallType<u2>::encode(value)), value & 3);
    EXPECT_EQ(SmallType<i4>::decode(SmallType<i4>::encode(value)), ((value + 8) & 15) - 8);
    EXPECT_EQ(SmallType<i2>::decode(SmallType<i2>::encode(value)), ((value + 2) & 3) - 2);
  }
}

} // namespace
} // namespace smelt
