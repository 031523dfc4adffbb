// Floats of at most 8 bits, every code of each, against LLVM's software floats.
#include "ir/interpret/small_float.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/APFloat.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mlir;
using llvm::APFloat;
using llvm::APInt;

namespace smelt::test {
namespace {

class SmallFloatTest : public testing::Test {
protected:
  SmallFloatTest()
      : types{Float8E4M3FNType::get(&context), Float8E4M3FNUZType::get(&context),
              Float8E5M2Type::get(&context),   Float8E5M2FNUZType::get(&context),
              Float4E2M1FNType::get(&context), Float8E8M0FNUType::get(&context)} {}

  static float expectedValue(FloatType type, unsigned code) {
    APFloat value(type.getFloatSemantics(), APInt(type.getWidth(), code));
    return value.isNaN() ? NAN : static_cast<float>(value.convertToDouble());
  }

  static bool isSame(float a, float b) {
    return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
  }

  MLIRContext context;
  std::vector<FloatType> types;
};

TEST_F(SmallFloatTest, DecodesEveryCodeAndBack) {
  for (FloatType type : types) {
    SmallFloat format = *SmallFloat::of(type);
    for (unsigned code = 0; code < 1u << type.getWidth(); ++code) {
      float value = format.decode(static_cast<uint8_t>(code));
      ASSERT_TRUE(isSame(value, expectedValue(type, code)))
          << code << " is " << value << ", expected " << expectedValue(type, code);
      if (!std::isnan(value))
        ASSERT_EQ(format.encode(value), code);
    }
  }
}

TEST_F(SmallFloatTest, RoundsAroundTheMiddleOfAllNeighbours) {
  for (FloatType type : ArrayRef(types).drop_back()) {
    SmallFloat format = *SmallFloat::of(type);
    for (unsigned code = 0; code < format.largest; ++code) {
      float low = expectedValue(type, code), high = expectedValue(type, code + 1);
      float middle = (low + high) / 2;
      unsigned even = code % 2 ? code + 1 : code, sign = 1u << (type.getWidth() - 1);
      ASSERT_EQ(format.encode(std::nextafter(middle, 0.0f)), code);
      ASSERT_EQ(format.encode(middle), even);
      ASSERT_EQ(format.encode(std::nextafter(middle, INFINITY)), code + 1);
      if (even != 0)
        ASSERT_EQ(format.encode(-middle), even | sign);
    }
  }
}

TEST_F(SmallFloatTest, WhatIsTooLarge) {
  EXPECT_EQ(kFloat8E4M3FN.encode(464.0f), 0x7e); // halfway, and the largest is even
  EXPECT_EQ(kFloat8E4M3FN.encode(464.1f), 0x7f);
  EXPECT_EQ(kFloat8E4M3FN.encode(-INFINITY), 0xff);
  EXPECT_EQ(kFloat8E4M3FNUZ.encode(247.9f), 0x7f);
  EXPECT_EQ(kFloat8E4M3FNUZ.encode(-248.0f), 0x80);
  EXPECT_EQ(kFloat8E5M2.encode(61439.0f), 0x7b);
  EXPECT_EQ(kFloat8E5M2.encode(-61440.0f), 0xfc);
  EXPECT_EQ(kFloat8E5M2FNUZ.encode(61440.0f), 0x80);
  EXPECT_EQ(kFloat4E2M1.encode(-1e30f), 0xf);
  EXPECT_EQ(kFloat4E2M1.encode(INFINITY), 0x7);
}

TEST_F(SmallFloatTest, ZerosAndNan) {
  EXPECT_EQ(kFloat8E4M3FN.encode(-0.0f), 0x80);
  EXPECT_EQ(kFloat8E4M3FNUZ.encode(-0.0f), 0); // its -0 would be NaN
  EXPECT_EQ(kFloat8E5M2FNUZ.encode(-1e-30f), 0);
  EXPECT_EQ(kFloat8E4M3FN.encode(std::copysign(NAN, -1.0f)), 0xff);
  EXPECT_EQ(kFloat8E5M2.encode(std::copysign(NAN, 1.0f)), 0x7e);
  EXPECT_EQ(kFloat8E4M3FNUZ.encode(std::copysign(NAN, -1.0f)), 0x80);
  EXPECT_EQ(kFloat4E2M1.encode(NAN), 0x8);
}

TEST_F(SmallFloatTest, ScalesRoundToTheNearestPowerTiesUp) {
  for (int exponent = -126; exponent < 127; ++exponent) {
    float power = std::ldexp(1.0f, exponent);
    ASSERT_EQ(kFloat8E8M0.encode(power * 1.4999f), exponent + 127);
    ASSERT_EQ(kFloat8E8M0.encode(power * 1.5f), exponent + 128);
  }
  EXPECT_EQ(kFloat8E8M0.encode(std::ldexp(1.0f, -149)), 0);
  EXPECT_EQ(kFloat8E8M0.encode(std::ldexp(1.5f, -127)), 1);
  EXPECT_EQ(kFloat8E8M0.encode(3e38f), 0xff);
  for (float value : {0.0f, -1.0f, INFINITY, NAN})
    EXPECT_EQ(kFloat8E8M0.encode(value), 0xff);
}

} // namespace
} // namespace smelt::test
