#include "runtime/shape_program.h"

#include "tests/runtime/test_plan.h"

#include <gtest/gtest.h>

namespace smelt::runtime {
namespace {

using Opcode = plan::DimOpcode;

std::optional<int64_t> evaluate(Opcode opcode, int64_t left, int64_t right) {
  plan::DimExpressionT dim;
  dim.program = {{Opcode::symbol, 0}, {Opcode::symbol, 1}, {opcode, 0}};
  return evaluateDim(dim, std::array{left, right});
}

TEST(EvaluateDim, DividesTowardsMinusAndPlusInfinity) {
  EXPECT_EQ(evaluate(Opcode::floor_div, 7, 2), 3);
  EXPECT_EQ(evaluate(Opcode::floor_div, -7, 2), -4);
  EXPECT_EQ(evaluate(Opcode::floor_div, 7, -2), -4);
  EXPECT_EQ(evaluate(Opcode::ceil_div, 7, 2), 4);
  EXPECT_EQ(evaluate(Opcode::ceil_div, -7, 2), -3);
  EXPECT_EQ(evaluate(Opcode::ceil_div, 8, 2), 4);
  EXPECT_EQ(evaluate(Opcode::mod, 7, 4), 3);
  EXPECT_EQ(evaluate(Opcode::mod, -7, 4), 1);
  EXPECT_EQ(evaluate(Opcode::mod, 7, -4), -1);
}

TEST(EvaluateDim, DividesTheLargestNumbers) {
  EXPECT_EQ(evaluate(Opcode::floor_div, INT64_MIN, 3), INT64_MIN / 3 - 1);
  EXPECT_EQ(evaluate(Opcode::floor_div, INT64_MAX, -2), INT64_MAX / -2 - 1);
  EXPECT_EQ(evaluate(Opcode::ceil_div, INT64_MIN, 3), INT64_MIN / 3);
  EXPECT_EQ(evaluate(Opcode::ceil_div, INT64_MAX, 2), INT64_MAX / 2 + 1);
  EXPECT_EQ(evaluate(Opcode::mod, INT64_MIN, 3), 1);
  EXPECT_EQ(evaluate(Opcode::mod, INT64_MAX, -2), -1);
  EXPECT_EQ(evaluate(Opcode::mod, INT64_MIN, INT64_MAX), INT64_MAX - 1);
}

TEST(EvaluateDim, ComputesTheOtherOperations) {
  EXPECT_EQ(evaluate(Opcode::add, 7, 4), 11);
  EXPECT_EQ(evaluate(Opcode::sub, 7, 9), -2);
  EXPECT_EQ(evaluate(Opcode::mul, 7, -4), -28);
  EXPECT_EQ(evaluate(Opcode::min, 7, -4), -4);
  EXPECT_EQ(evaluate(Opcode::max, 7, -4), 7);
}

TEST(EvaluateDim, RefusesOverflowAndDivisionByZero) {
  EXPECT_EQ(evaluate(Opcode::add, INT64_MAX, 1), std::nullopt);
  EXPECT_EQ(evaluate(Opcode::sub, INT64_MIN, 1), std::nullopt);
  EXPECT_EQ(evaluate(Opcode::mul, INT64_MAX / 2 + 1, 2), std::nullopt);
  EXPECT_EQ(evaluate(Opcode::floor_div, 1, 0), std::nullopt);
  EXPECT_EQ(evaluate(Opcode::ceil_div, 1, 0), std::nullopt);
  EXPECT_EQ(evaluate(Opcode::mod, 1, 0), std::nullopt);
  EXPECT_EQ(evaluate(Opcode::floor_div, INT64_MIN, -1), std::nullopt);
  EXPECT_EQ(evaluate(Opcode::mod, INT64_MIN, -1), std::nullopt);
}

TEST(DimText, WritesDimsAsPeopleDo) {
  plan::MetadataT metadata;
  test::DimBuilder dims(metadata);
  uint32_t batch = dims.symbol("batch"), seq = dims.symbol("seq"), one = dims.constant(1);
  uint32_t sum = dims.apply(Opcode::add, seq, one);
  EXPECT_EQ(dimText(metadata, dims.apply(Opcode::mul, batch, sum)), "batch*(seq + 1)");
  EXPECT_EQ(dimText(metadata, dims.apply(Opcode::ceil_div, sum, batch)), "ceildiv(seq + 1, batch)");
  EXPECT_EQ(dimText(metadata, dims.apply(Opcode::mul, batch, dims.apply(Opcode::mod, sum, batch))),
            "batch*mod(seq + 1, batch)");
  EXPECT_EQ(dimText(metadata, dims.apply(Opcode::sub, batch, dims.apply(Opcode::sub, seq, sum))),
            "batch - (seq - (seq + 1))");
  EXPECT_EQ(dimText(metadata, dims.apply(Opcode::min, seq, one)), "min(seq, 1)");
}

TEST(SolveShapes, SolvesSymbolsAndDims) {
  test::TestPlan plan;
  auto values = solveShapes(plan.contents.metadata, std::array{Shape{3, 77}, Shape{3, 77}});
  ASSERT_TRUE(values.isOk()) << values.status().message();
  EXPECT_EQ(values->symbols, (std::vector<int64_t>{3, 77}));
  EXPECT_EQ(shapeOf(*plan.contents.metadata.outputs[0], *values), (Shape{3, 77}));
  EXPECT_EQ(*tensorBytes(*plan.contents.metadata.outputs[0], *values), 3 * 77 * 4);
}

/// The message with which the test plan refuses these shapes of x and y.
std::string refusal(Shape x, Shape y) {
  test::TestPlan plan;
  auto values = solveShapes(plan.contents.metadata, std::array{x, y});
  EXPECT_EQ(values.status().code(), StatusCode::kUsage);
  return values.status().message();
}

TEST(SolveShapes, SaysWhichInputContradictsTheOthers) {
  EXPECT_EQ(refusal({3, 77}, {3, 78}), "input 'y' [batch, seq] must have shape [3, 77] where "
                                       "batch = 3, seq = 77, but was given [3, 78]");
  EXPECT_EQ(refusal({3, 77}, {3}),
            "input 'y' [batch, seq] has 2 dimensions, not the 1 of the given shape [3]");
  EXPECT_EQ(refusal({3, -1}, {3, -1}),
            "input 'x' [batch, seq]: the given shape [3, -1] has a negative extent");
}

TEST(SolveShapes, TakesSizesOfZero) {
  test::TestPlan plan;
  Shape empty{0, 77};
  auto values = solveShapes(plan.contents.metadata, std::array{empty, empty});
  ASSERT_TRUE(values.isOk()) << values.status().message();
  EXPECT_EQ(values->symbols, (std::vector<int64_t>{0, 77}));
}

TEST(SolveShapes, ChecksGuards) {
  EXPECT_EQ(refusal({1, 513}, {1, 513}),
            "these shapes do not fit the model: the position table has 512 rows: seq = 513 must be "
            "at most 512 where batch = 1, seq = 513");
}

TEST(SolveShapes, RefusesSizesThatOverflow) {
  std::string message = refusal({INT64_MAX, 512}, {INT64_MAX, 512});
  EXPECT_NE(message.find("batch*seq overflows"), std::string::npos) << message;
}

} // namespace
} // namespace smelt::runtime
