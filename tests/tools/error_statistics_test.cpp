// tools/smelt/error_statistics: the numbers that `compare` judges by.
#include "tools/smelt/error_statistics.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace smelt;
using namespace smelt::tools;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Array floats(const std::vector<double> &values) {
  Array array = *Array::zeros(ElementType::f32, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i)
    array.set(i, values[i]);
  return array;
}

} // namespace

TEST(ErrorStatistics, MeasuresNormAndWorstElement) {
  ErrorStatistics statistics = compareTensors(floats({3, 4, 1}), floats({3, 4, 0}));
  EXPECT_DOUBLE_EQ(statistics.relativeNorm, 1.0 / 5.0);
  EXPECT_EQ(statistics.worstIndex, 2u);
  EXPECT_EQ(statistics.maxAbsolute, 1);
  EXPECT_EQ(statistics.worstOutput, 1);
  EXPECT_EQ(statistics.worstReference, 0);
}

TEST(ErrorStatistics, EqualIsZeroAlsoForNanAndInfinity) {
  ErrorStatistics statistics =
      compareTensors(floats({0, kNan, kInfinity}), floats({0, kNan, kInfinity}));
  EXPECT_EQ(statistics.relativeNorm, 0);
  EXPECT_EQ(statistics.maxAbsolute, 0);
  EXPECT_EQ(statistics.nonFiniteOutputs, 2u);
}

TEST(ErrorStatistics, NonFiniteInOneOfThemIsInfinitelyWrong) {
  for (double bad : {kNan, kInfinity, -kInfinity}) {
    EXPECT_EQ(compareTensors(floats({1, bad}), floats({1, 2})).relativeNorm, kInfinity);
    EXPECT_EQ(compareTensors(floats({1, 2}), floats({1, bad})).relativeNorm, kInfinity);
  }
  EXPECT_EQ(compareTensors(floats({kInfinity}), floats({-kInfinity})).maxAbsolute, kInfinity);
}

TEST(ErrorStatistics, AnyErrorAgainstZeroIsInfinite) {
  EXPECT_EQ(compareTensors(floats({1e-30}), floats({0})).relativeNorm, kInfinity);
}

TEST(ErrorStatistics, EmptyTensorsAgree) {
  EXPECT_EQ(compareTensors(floats({}), floats({})).relativeNorm, 0);
}

TEST(ErrorStatistics, IntegersMustBeExact) {
  EXPECT_EQ(defaultTolerance(ElementType::i64, false), 0);
  Array a = *Array::zeros(ElementType::u64, {1}), b = a;
  a.set(0, 0x1p63);
  b.set(0, 0x1p63);
  EXPECT_EQ(compareTensors(a, b).maxAbsolute, 0);
  b.bytes[0] = std::byte{1}; // which a double does not tell from 0
  EXPECT_EQ(compareTensors(a, b).maxAbsolute, 1);
}

TEST(PositionText, IsRowMajor) {
  EXPECT_EQ(positionText(0, {2, 3, 4}), "[0, 0, 0]");
  EXPECT_EQ(positionText(23, {2, 3, 4}), "[1, 2, 3]");
  EXPECT_EQ(positionText(13, {2, 3, 4}), "[1, 0, 1]");
  EXPECT_EQ(positionText(0, {}), "[]");
}

TEST(PositionText, IsNowhereWithoutElements) { EXPECT_EQ(positionText(0, {0, 4}), "nowhere"); }
