// Moments of rows in groups, and what they give of whole rows, against plain loops in double.
#include "tests/ir/interpret/interpret_test.h"

namespace smelt::test {
namespace {

constexpr int64_t kGroup = 32;

struct Row {
  double mean = 0, variance = 0, meanSquare = 0;
};

/// Of `count` values from `start` on; two passes.
Row statistics(const std::vector<double> &values, int64_t start, int64_t count) {
  Row row;
  for (int64_t i = start; i < start + count; ++i)
    row.mean += values[i] / count, row.meanSquare += values[i] * values[i] / count;
  for (int64_t i = start; i < start + count; ++i)
    row.variance += (values[i] - row.mean) * (values[i] - row.mean) / count;
  return row;
}

class MomentsTest : public InterpretTest {
protected:
  /// `op` on the moments of `input`, [3, 5, columns].
  HostTensor statistic(const std::string &op, const HostTensor &input, const std::string &element) {
    std::string columns = std::to_string(input.getSize(2)),
                groups = std::to_string(input.getSize(2) / kGroup);
    auto module = parse("(%x: !smelt.tensor<[3, 5, " + columns + "], " + element +
                            ">) -> !smelt.tensor<[3, 5, 1], f32>",
                        "%m = smelt.row_moments %x : !smelt.tensor<[3, 5, " + columns + "], " +
                            element + "> -> !smelt.tensor<[3, 5, " + groups +
                            ", 2], f32>\n%y = smelt." + op + " : !smelt.tensor<[3, 5, " + groups +
                            ", 2], f32> -> !smelt.tensor<[3, 5, 1], f32>\n"
                            "return %y : !smelt.tensor<[3, 5, 1], f32>");
    std::vector<HostTensor> results = module ? run(*module, {input}) : std::vector<HostTensor>();
    return results.empty() ? HostTensor() : results[0];
  }

  template <typename Expected>
  void expectRows(const std::string &op, const HostTensor &input, const std::string &element,
                  double tolerance, Expected expected) {
    int64_t columns = input.getSize(2);
    std::vector<double> values = valuesOf(input), rows;
    for (size_t start = 0; start < values.size(); start += columns)
      rows.push_back(expected(statistics(values, start, columns)));
    expectNear(statistic(op, input, element), rows, tolerance);
  }
};

TEST_F(MomentsTest, GroupsOfARow) {
  for (const char *element : {"f16", "bf16", "f32"}) {
    HostTensor input = random({2, 3, 96}, element, 1, {0, 2, 3.0});
    std::string in = std::string("[2, 3, 96], ") + element, out = "[2, 3, 3, 2], f32";
    HostTensor result =
        runOp("smelt.row_moments %a : !smelt.tensor<" + in + "> -> !smelt.tensor<" + out + ">",
              {in}, out, {input});
    std::vector<double> values = valuesOf(input), expected;
    for (size_t start = 0; start < values.size(); start += kGroup) {
      Row group = statistics(values, start, kGroup);
      expected.push_back(group.mean);
      expected.push_back(group.variance * kGroup);
    }
    expectNear(result, expected, 1e-6);
  }
}

TEST_F(MomentsTest, StatisticsOfRows) {
  for (const char *element : {"f16", "f32"})
    for (int64_t columns : {32, 768}) {
      HostTensor input = random({3, 5, columns}, element, 2, {0, 2, 3.0});
      expectRows("moments_mean %m", input, element, 1e-6, [](Row row) { return row.mean; });
      expectRows("moments_rstd %m {epsilon = 0.5 : f32}", input, element, 1e-6,
                 [](Row row) { return 1 / std::sqrt(row.variance + 0.5); });
      expectRows("moments_rrms %m {epsilon = 0.25 : f32}", input, element, 1e-6,
                 [](Row row) { return 1 / std::sqrt(row.meanSquare + 0.25); });
    }
}

/// A sum of squares in fp32 would leave one digit of the variance here; means of groups in fp32
/// (2^-15 from exact) and deviations from them leave four.
TEST_F(MomentsTest, MeansFarLargerThanDeviations) {
  HostTensor input = random({3, 5, 64}, "f32", 3);
  std::vector<float> shifted;
  for (double value : valuesOf(input))
    shifted.push_back(static_cast<float>(value) + 1000.0f);
  expectRows("moments_rstd %m {epsilon = 0.0 : f32}", floats({3, 5, 64}, shifted), "f32", 0x1p-15,
             [](Row row) { return 1 / std::sqrt(row.variance); });
}

/// Nothing deviates from the mean, and nothing that rounding left is scaled up.
TEST_F(MomentsTest, EqualElements) {
  for (const char *element : {"f16", "f32"}) {
    HostTensor input = HostTensor::fromValues<float>({3, 5, 96}, type(element), Floats(1440, 1.3f));
    expectRows("moments_rstd %m {epsilon = 1.0e-12 : f32}", input, element, 0,
               [](Row) { return 0.0; });
    expectRows("moments_rstd %m {epsilon = 0.0 : f32}", input, element, 0,
               [](Row) { return std::numeric_limits<double>::infinity(); });
  }
}

TEST_F(MomentsTest, ProductsLeftUnrounded) {
  // 300 * 300 is no f16.
  HostTensor lhs = HostTensor::fromValues<float>({1, 2}, type("f16"), Floats{300, 300});
  HostTensor rhs = HostTensor::fromValues<float>({2, 1}, type("f16"), Floats{300, 1});
  HostTensor sums = runOp("smelt.matmul %a, %b : !smelt.tensor<[1, 2], f16>, "
                          "!smelt.tensor<[2, 1], f16> -> !smelt.tensor<[1, 1], f32>",
                          {"[1, 2], f16", "[2, 1], f16"}, "[1, 1], f32", {lhs, rhs});
  expectNear(sums, {90300}, 0);
  EXPECT_TRUE(sums.getElementType().isF32());
}

} // namespace
} // namespace smelt::test
