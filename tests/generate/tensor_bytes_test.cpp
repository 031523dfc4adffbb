#include "tests/generate/tensor_bytes.h"

#include <gtest/gtest.h>

#include <cmath>

namespace smelt::generate {
namespace {

double thereAndBack(ElementType type, double value) {
  return elementAt(type, toBytes(type, {value}).data(), 0);
}

TEST(TensorBytes, EveryTypeKeepsWhatItHolds) {
  for (ElementType type : everyType()) {
    EXPECT_EQ(thereAndBack(type, 1), 1) << typeName(type);
    if (type == Wire::BOOL)
      continue;
    EXPECT_EQ(thereAndBack(type, 100), 100) << typeName(type);
    if (isSigned(type))
      EXPECT_EQ(thereAndBack(type, -100), -100) << typeName(type);
  }
}

TEST(TensorBytes, TheUpperHalfOfUint64) {
  EXPECT_EQ(thereAndBack(Wire::UINT64, 0x1p63), 0x1p63);
  EXPECT_EQ(thereAndBack(Wire::UINT64, 0x1.8p63), 0x1.8p63);
  EXPECT_EQ(toBytes(Wire::UINT64, {0x1p64}), std::string(8, '\xff')) << "2^64 - 1, as a double";
}

TEST(TensorBytes, FloatsAreRounded) {
  EXPECT_EQ(thereAndBack(Wire::FLOAT16, 1 + 0x1p-12), 1);
  EXPECT_EQ(rounded(Wire::BFLOAT16, 1 + 0x1p-6), 1 + 0x1p-6);
  EXPECT_TRUE(std::isinf(thereAndBack(Wire::FLOAT16, 1e6)));
}

} // namespace
} // namespace smelt::generate
