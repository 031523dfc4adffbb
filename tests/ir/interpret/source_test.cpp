// Constants, weights, dimensions as data, iota.
#include "tests/ir/interpret/interpret_test.h"

namespace smelt::test {
namespace {

class SourceTest : public InterpretTest {};

TEST_F(SourceTest, ConstantsOfEveryElementType) {
  auto constant = [&](const std::string &value, const std::string &type) {
    return runOp("smelt.constant " + value + " : !smelt.tensor<" + type + ">", {}, type, {});
  };
  expectNear(constant("dense<[[1.5, -2.0], [0.25, 3.0]]> : tensor<2x2xf32>", "[2, 2], f32"),
             {1.5, -2, 0.25, 3}, 0);
  expectNear(constant("dense<0.1> : tensor<2xf16>", "[2], f16"), {0.0999755859375, 0.0999755859375},
             0);
  expectNear(constant("dense<[1.0, 0xFF80]> : tensor<2xbf16>", "[2], bf16"), {1, -INFINITY}, 0);
  expectNear(constant("dense<[-1, 5]> : tensor<2xi8>", "[2], i8"), {-1, 5}, 0);
  expectNear(constant("dense<255> : tensor<1xui8>", "[1], ui8"), {255}, 0);
  expectNear(constant("dense<[true, false, true]> : tensor<3xi1>", "[3], i1"), {1, 0, 1}, 0);
  expectNear(constant("dense<7> : tensor<i64>", "[], i64"), {7}, 0);
  expectNear(constant("dense<> : tensor<0xf32>", "[0], f32"), {}, 0);
}

TEST_F(SourceTest, WeightsAreReadThroughTheStore) {
  std::string type = "!smelt.tensor<[2, 2], f16>";
  auto module =
      parse("() -> " + type, "%w = smelt.weight \"w\" <\"weights.bin\", 0, 8, \"\"> : " + type +
                                 "\nreturn %w : " + type);
  WeightStore weights;
  HostTensor values = floats({2, 2}, {1, 2, 3, -4});
  std::vector<char> bytes =
      HostTensor::fromValues<float>({2, 2}, this->type("f16"), values.values<float>()).toBytes();
  weights.own("w", std::string(bytes.begin(), bytes.end()));
  Interpreter interpreter(*module, weights);
  auto results = interpreter.run({});
  ASSERT_TRUE(mlir::succeeded(results)) << errors;
  expectNear((*results)[0], {1, 2, 3, -4}, 0);
}

TEST_F(SourceTest, AWeightWithoutAStoreIsAnError) {
  auto module =
      parse("() -> !smelt.tensor<[2], f16>",
            "%w = smelt.weight \"w\" <\"weights.bin\", 0, 4, \"\"> : !smelt.tensor<[2], f16>\n"
            "return %w : !smelt.tensor<[2], f16>");
  mlir::Operation &op = module->getBodyRegion().front().front().getRegion(0).front().front();
  EXPECT_TRUE(mlir::failed(evaluate(&op, {})));
  EXPECT_NE(errors.find("weight 'w' has no bytes here"), std::string::npos) << errors;
}

TEST_F(SourceTest, DimsFollowTheSymbols) {
  auto module = parse("(%x: !smelt.tensor<[n, m], f32>) -> !smelt.tensor<[3], i64>",
                      "%d = smelt.dims [n*m, 64, floordiv(m, 2)] : !smelt.tensor<[3], i64>\nreturn "
                      "%d : !smelt.tensor<[3], i64>");
  for (int64_t n : {2, 5}) {
    std::vector<HostTensor> results = run(*module, {random({n, 7}, "f32", 1)});
    ASSERT_EQ(results.size(), 1u) << errors;
    expectNear(results[0], {n * 7.0, 64, 3}, 0);
  }
}

TEST_F(SourceTest, Iota) {
  expectNear(runOp("smelt.iota : !smelt.tensor<[4], i32>", {}, "[4], i32", {}), {0, 1, 2, 3}, 0);
  expectNear(runOp("smelt.iota : !smelt.tensor<[3], f16>", {}, "[3], f16", {}), {0, 1, 2}, 0);
}

} // namespace
} // namespace smelt::test
