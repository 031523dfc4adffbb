// Conversions between bytes, constants and the values that the interpreter computes with.
#include "ir/interpret/half.h"
#include "tests/ir/interpret/interpret_test.h"

#include <cstring>

namespace smelt::test {
namespace {

class HostTensorTest : public InterpretTest {};

double halfValue(uint16_t bits) {
  int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double magnitude = exponent == 31 ? (mantissa ? NAN : INFINITY)
                     : exponent     ? std::ldexp(1024 + mantissa, exponent - 25)
                                    : std::ldexp(mantissa, -24);
  return bits & 0x8000 ? -magnitude : magnitude;
}

TEST(Half, EveryHalfConvertsExactlyAndBack) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    double expected = halfValue(bits);
    float value = halfToFloat(bits);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(value));
      EXPECT_TRUE(std::isnan(halfToFloat(floatToHalf(value))));
      continue;
    }
    ASSERT_EQ(value, expected) << bits;
    ASSERT_EQ(std::signbit(value), std::signbit(expected));
    ASSERT_EQ(floatToHalf(value), bits);
    ASSERT_EQ(doubleToHalf(value), bits);
  }
}

TEST(Half, RoundsToTheNearestHalfTiesToEven) {
  // Between each two neighbours: just below, at, and just above the middle, in double so that no
  // second rounding hides.
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    double low = halfValue(bits), high = halfValue(bits + 1), middle = (low + high) / 2;
    uint32_t even = bits % 2 ? bits + 1 : bits;
    ASSERT_EQ(doubleToHalf(std::nextafter(middle, 0)), bits);
    ASSERT_EQ(doubleToHalf(middle), even);
    ASSERT_EQ(doubleToHalf(std::nextafter(middle, INFINITY)), bits + 1);
    auto single = static_cast<float>(middle); // exact
    ASSERT_EQ(floatToHalf(single), even);
    ASSERT_EQ(floatToHalf(std::nextafter(single, INFINITY)), bits + 1);
    ASSERT_EQ(floatToHalf(-single), even | 0x8000);
  }
  EXPECT_EQ(floatToHalf(65519.99f), 0x7bff);
  EXPECT_EQ(floatToHalf(65520.0f), 0x7c00);
  EXPECT_EQ(doubleToHalf(-1e300), 0xfc00);
}

TEST(Half, Bfloat16) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    float value = bfloat16ToFloat(bits);
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(bfloat16ToFloat(floatToBfloat16(value))));
    else
      ASSERT_EQ(floatToBfloat16(value), bits);
  }
  EXPECT_EQ(floatToBfloat16(1 + 0x1p-8f), 0x3f80); // tie to even
  EXPECT_EQ(floatToBfloat16(1 + 0x3p-8f), 0x3f82); // tie to even, upwards
  EXPECT_EQ(doubleToBfloat16(1 + 0x1p-8 + 0x1p-40),
            0x3f81); // the tail counts although float drops it
  EXPECT_EQ(floatToBfloat16(3.4e38f), 0x7f80);
}

TEST_F(HostTensorTest, BytesRoundTripInEveryType) {
  for (const char *name :
       {"f16",        "bf16",     "f32",  "f64", "i1",   "i8",       "ui8",        "i16",
        "ui16",       "i32",      "ui32", "i64", "ui64", "f8E4M3FN", "f8E4M3FNUZ", "f8E5M2",
        "f8E5M2FNUZ", "f4E2M1FN", "i4",   "ui4", "i2",   "ui2"}) {
    SCOPED_TRACE(name);
    HostTensor tensor = random({3, 7}, name, 1, {-100, 100});
    std::vector<char> bytes = tensor.toBytes();
    EXPECT_EQ(static_cast<int64_t>(bytes.size()), 21 * elementBytes(type(name)));
    for (Precision precision : {Precision::f32, Precision::f64}) {
      std::optional<HostTensor> again = HostTensor::fromBytes({3, 7}, type(name), bytes, precision);
      ASSERT_TRUE(again);
      EXPECT_EQ(valuesOf(*again), valuesOf(tensor));
      EXPECT_EQ(again->toBytes(), bytes);
    }
    EXPECT_FALSE(HostTensor::fromBytes({3, 8}, type(name), bytes));
    std::optional<HostTensor> constant = HostTensor::fromAttribute(tensor.toAttribute());
    ASSERT_TRUE(constant);
    EXPECT_EQ(valuesOf(*constant), valuesOf(tensor));
    EXPECT_EQ(constant->getElementType(), type(name));
  }
}

TEST_F(HostTensorTest, BytesAreLittleEndianAndUnaligned) {
  std::string bytes("\0\x01\x02\xff\xff", 5);
  std::optional<HostTensor> tensor =
      HostTensor::fromBytes({2}, type("i16"), llvm::ArrayRef(bytes.data() + 1, 4));
  ASSERT_TRUE(tensor);
  expectNear(*tensor, {513, -1}, 0);
}

TEST_F(HostTensorTest, IntegersOf64BitsWithoutSign) {
  HostTensor tensor =
      HostTensor::fromValues<int64_t>({2}, type("ui64"), llvm::ArrayRef<int64_t>{-1, 5});
  expectNear(tensor, {0x1p64, 5}, 0);
  expectNear(tensor.withStorage(Storage::f64), {0x1p64, 5}, 0);
  EXPECT_EQ(*HostTensor::fromBytes({2}, type("ui64"), tensor.toBytes())->values<uint64_t>().begin(),
            ~uint64_t{0});
}

TEST_F(HostTensorTest, CopiesShareUntilOneIsWritten) {
  HostTensor first = floats({2, 2}, {1, 2, 3, 4}), second = first.reshaped({4});
  EXPECT_EQ(first.values<float>().data(), second.values<float>().data());
  second.mutableValues<float>()[0] = 9;
  expectNear(first, {1, 2, 3, 4}, 0);
  expectNear(second, {9, 2, 3, 4}, 0);
  EXPECT_TRUE(first.ownsValuesAlone());
}

TEST_F(HostTensorTest, AbsurdSizesAreRefused) {
  EXPECT_FALSE(HostTensor::allocate({int64_t{1} << 40}, type("f32"), Storage::f32));
  EXPECT_FALSE(
      HostTensor::allocate({int64_t{1} << 32, int64_t{1} << 32}, type("f32"), Storage::f32));
  EXPECT_FALSE(HostTensor::allocate({-1}, type("f32"), Storage::f32));
  EXPECT_TRUE(HostTensor::allocate({int64_t{1} << 40, 0}, type("f32"), Storage::f32));
}

TEST_F(HostTensorTest, EmptyAndScalarConstants) {
  EXPECT_EQ(floats({0, 3}, {}).toAttribute().getNumElements(), 0);
  EXPECT_TRUE(integers({0, 3}, {}).toBytes().empty());
  EXPECT_EQ(integers({}, {7}).toAttribute(),
            mlir::DenseElementsAttr::get(mlir::RankedTensorType::get({}, type("i64")),
                                         llvm::ArrayRef<int64_t>{7}));
}

TEST(Compare, NormWorstElementAndNonFinite) {
  mlir::MLIRContext context;
  mlir::Type f32 = mlir::Float32Type::get(&context);
  auto tensor = [&](Floats values) {
    return HostTensor::fromValues<float>({static_cast<int64_t>(values.size())}, f32, values);
  };
  std::optional<ErrorStatistics> error = compare(tensor({3, 4.5f, 0}), tensor({3, 4, 0}));
  ASSERT_TRUE(error);
  EXPECT_DOUBLE_EQ(error->relative, 0.1);
  EXPECT_DOUBLE_EQ(error->worst, 0.125);
  EXPECT_EQ(error->worstPosition, 1);
  EXPECT_TRUE(error->within(0.11));
  EXPECT_FALSE(error->within(0.09));
  EXPECT_EQ(compare(tensor({NAN, INFINITY}), tensor({NAN, INFINITY}))->nonFinite, 0);
  EXPECT_FALSE(compare(tensor({NAN, 1}), tensor({1, 1}))->within(1e9));
  EXPECT_FALSE(compare(tensor({INFINITY}), tensor({-INFINITY}))->within(1e9));
  EXPECT_FALSE(compare(tensor({1}), tensor({1, 1})));
}

} // namespace
} // namespace smelt::test
