// What quantises exact sums is judged even where they lie just between two steps; what quantises rounded ones there is not.
#include "tests/generate/judge.h"

#include <gtest/gtest.h>

namespace smelt::generate {
namespace {

constexpr Bounds kCodes{-100, 100};

/// Bytes that stand for multiples of a scale, times others, in steps of `step`.
Outcome judgeProduct(double scale, double otherScale, double step, ElementType type = Wire::INT8) {
  DrawOptions options;
  options.mayBeDynamic = false;
  options.opset = 21;
  Drawing draw(1, options);
  auto decoded = [&](const Shape &shape, double by) {
    Value codes = draw.input(type == Wire::INT8 ? type : Wire::FLOAT, shape, kCodes);
    if (type != Wire::INT8)
      codes = draw.node("Cast", {codes}, Attributes().add("to", static_cast<int64_t>(type)), type,
                        shape, kCodes);
    return draw.node("DequantizeLinear", {codes, draw.scalar(Wire::FLOAT, by)}, {}, Wire::FLOAT,
                     shape, kCodes);
  };
  Size rows = Size::of(16), depth = Size::of(8), columns = Size::of(24);
  Value left = decoded({rows, depth}, scale), right = decoded({depth, columns}, otherScale);
  Value sums = draw.node("MatMul", {left, right}, {}, Wire::FLOAT, {rows, columns}, kCodes);
  draw.node("QuantizeLinear", {sums, draw.scalar(Wire::FLOAT, step), draw.scalar(Wire::INT16, 0)},
            {}, Wire::INT16, {rows, columns}, kCodes);
  JudgeOptions judged;
  judged.architectures.clear();
  return judge(draw.finish("ties", 1), judged);
}

TEST(Exactness, SumsOfBytesAreJudgedBetweenTwoSteps) {
  EXPECT_TRUE(judgeProduct(0.5, 0.25, 0.25).agrees()); // half of them are multiples of half a step
}

/// Of which tensor cores keep 14 bits, though float32 holds them.
TEST(Exactness, SumsOfFloatsOf8BitsAreNot) {
  EXPECT_EQ(judgeProduct(0.125, 0.0625, 0.125, Wire::FLOAT8E4M3FN).rejection,
            "rounding decides a result");
}

TEST(Exactness, RoundedSumsAreNot) {
  EXPECT_EQ(judgeProduct(0.5, 0.3, 0.3).rejection, "rounding decides a result");
}

} // namespace
} // namespace smelt::generate
