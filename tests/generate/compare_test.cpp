// What counts as a disagreement: a comparison that cannot fail proves nothing.
#include "tests/generate/compare.h"

#include <gtest/gtest.h>

#include <cmath>

namespace smelt::generate {
namespace {

Numbers ramp(size_t count) {
  Numbers numbers{{static_cast<int64_t>(count)}, {}};
  for (size_t i = 0; i < count; ++i)
    numbers.values.push_back(std::sin(static_cast<double>(i)));
  return numbers;
}

constexpr double kHalf = 5e-3;

TEST(Compare, EqualResultsAgree) {
  EXPECT_TRUE(compare(ramp(100), ramp(100), false, 0, {}).agrees);
}

TEST(Compare, RoundingOfTheTypeAgrees) {
  Numbers output = ramp(1000);
  for (size_t i = 0; i < output.values.size(); ++i)
    output.values[i] *= 1 + (i % 2 ? 5e-4 : -5e-4);
  EXPECT_TRUE(compare(output, ramp(1000), false, kHalf, {}).agrees);
  EXPECT_FALSE(compare(output, ramp(1000), false, baseLimit(Wire::FLOAT), {}).agrees);
}

TEST(Compare, OneWrongElementOfManyDisagrees) {
  Numbers output = ramp(1 << 18);
  output.values[4711] += 1;
  Verdict verdict = compare(output, ramp(1 << 18), false, kHalf, {});
  EXPECT_LT(verdict.relative, kHalf); // its norm alone would not tell
  EXPECT_FALSE(verdict.agrees);
}

TEST(Compare, WhatWasNotWrittenDisagrees) {
  Numbers output = ramp(64);
  output.values[63] = std::nan("");
  EXPECT_FALSE(compare(output, ramp(64), false, kHalf, {}).agrees);
}

TEST(Compare, TheSameNanAgrees) {
  Numbers output = ramp(8), reference = ramp(8);
  output.values[3] = reference.values[3] = std::nan("");
  EXPECT_TRUE(compare(output, reference, false, kHalf, {}).agrees);
}

TEST(Compare, AnotherShapeDisagrees) {
  Numbers output = ramp(6);
  output.shape = {2, 3};
  EXPECT_FALSE(compare(output, ramp(6), false, kHalf, {}).agrees);
}

TEST(Compare, IntegersAreExact) {
  Numbers output{{2}, {1000000, 2}}, reference{{2}, {1000001, 2}};
  EXPECT_FALSE(compare(output, reference, true, kHalf, {}).agrees);
}

TEST(Compare, ZerosAreNoExcuse) {
  Numbers output{{2}, {0, 1e-3}}, reference{{2}, {0, 0}};
  EXPECT_FALSE(compare(output, reference, false, kHalf, {}).agrees);
}

TEST(Sensitivity, WidensTheLimitByWhatRoundingDoes) {
  Numbers reference = ramp(100), moved = reference, output = reference;
  for (double &value : moved.values)
    value *= 1.01;
  for (double &value : output.values)
    value *= 1.02;
  Sensitivity sensitivity;
  addSensitivity(reference, moved, true, sensitivity);
  EXPECT_NEAR(sensitivity.relative, 0.01, 1e-9);
  EXPECT_TRUE(compare(output, reference, false, kHalf, sensitivity).agrees);
  EXPECT_FALSE(compare(output, reference, false, kHalf, {}).agrees);
}

TEST(Sensitivity, SeesADiscreteResultThatFlips) {
  Sensitivity sensitivity;
  addSensitivity({{2}, {0, 1}}, {{2}, {1, 1}}, false, sensitivity);
  EXPECT_FALSE(sensitivity.isDiscreteStable);
}

} // namespace
} // namespace smelt::generate
