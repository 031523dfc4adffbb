// A fusion means what its region means.
#include "tests/ir/interpret/interpret_test.h"

namespace smelt::test {
namespace {

class FusionTest : public InterpretTest {};

TEST_F(FusionTest, SeveralResultsAndSymbols) {
  std::string type = "!smelt.tensor<[n, 3], f32>";
  auto module = parse("(%x: " + type + ") -> (" + type + ", " + type + ")", R"(
    %y:2 = smelt.fusion pointwise(%x) : (!smelt.tensor<[n, 3], f32>) -> (!smelt.tensor<[n, 3], f32>, !smelt.tensor<[n, 3], f32>) {
    ^bb0(%a: !smelt.tensor<[n, 3], f32>):
      %two = smelt.constant dense<2.0> : tensor<f32> : !smelt.tensor<[], f32>
      %0 = smelt.mul %a, %two : !smelt.tensor<[n, 3], f32>, !smelt.tensor<[], f32> -> !smelt.tensor<[n, 3], f32>
      %1 = smelt.neg %0 : !smelt.tensor<[n, 3], f32>
      smelt.yield %0, %1 : !smelt.tensor<[n, 3], f32>, !smelt.tensor<[n, 3], f32>
    }
    return %y#0, %y#1 : !smelt.tensor<[n, 3], f32>, !smelt.tensor<[n, 3], f32>)");
  for (int64_t n : {1, 4}) {
    HostTensor x = random({n, 3}, "f32", n);
    std::vector<HostTensor> results = run(*module, {x});
    ASSERT_EQ(results.size(), 2u) << errors;
    for (int64_t i = 0; i < 3 * n; ++i) {
      EXPECT_EQ(results[0].getDouble(i), 2 * x.getDouble(i));
      EXPECT_EQ(results[1].getDouble(i), -2 * x.getDouble(i));
    }
  }
}

} // namespace
} // namespace smelt::test
