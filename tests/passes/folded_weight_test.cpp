// Weights are scaled at compile time only where their type still holds what they say.
#include "passes/fuse/folded_weight.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cmath>

namespace smelt {
namespace {

constexpr int64_t kRows = 4, kColumns = 3;

class FoldedWeightTest : public ::testing::Test {
protected:
  FoldedWeightTest() { context.loadDialect<SmeltDialect, mlir::func::FuncDialect>(); }

  mlir::Type type(const std::string &element) {
    mlir::Builder builder(&context);
    return element == "f16"    ? mlir::Type(builder.getF16Type())
           : element == "bf16" ? mlir::Type(builder.getBF16Type())
                               : mlir::Type(builder.getF32Type());
  }

  void own(const std::string &name, llvm::ArrayRef<int64_t> shape, const std::string &element,
           std::vector<float> values) {
    std::vector<char> bytes = HostTensor::fromValues<float>(shape, type(element), values).toBytes();
    store.own(name, std::string(bytes.begin(), bytes.end()));
  }

  /// Whether a scale [kRows] and weights [kRows, kColumns] of `element` pass; `expression` makes
  /// the matrix %m of %w.
  bool keeps(const std::string &element, std::vector<float> scale, std::vector<float> weights,
             const std::string &expression = "") {
    own("scale", {kRows}, element, scale);
    own("w", {kRows, kColumns}, element, weights);
    std::string vector = "<[4], " + element + ">", matrix = "<[4, 3], " + element + ">";
    auto module = mlir::parseSourceString<mlir::ModuleOp>(
        "func.func @main() {\n%s = smelt.weight \"scale\" <\"w.bin\", 0, 0, \"\"> : " + vector +
            "\n%w = smelt.weight \"w\" <\"w.bin\", 0, 0, \"\"> : " + matrix + "\n" + expression +
            "\nreturn\n}",
        &context);
    EXPECT_TRUE(module);
    auto function = module->lookupSymbol<mlir::func::FuncOp>("main");
    mlir::Operation &last = *std::prev(function.getBody().front().end(), 2);
    return passes::FoldedWeights(&store).keepDigits(function.getBody().front().front().getResult(0),
                                                    last.getResult(0));
  }

  mlir::MLIRContext context;
  WeightStore store;
};

std::vector<float> filled(float value, int64_t count = kRows * kColumns) {
  return std::vector<float>(count, value);
}

TEST_F(FoldedWeightTest, OrdinaryWeightsPass) {
  for (const char *element : {"f16", "bf16", "f32"}) {
    EXPECT_TRUE(keeps(element, filled(1.0f, kRows), filled(0.02f))) << element;
    EXPECT_TRUE(keeps(element, {0.0f, 3.0f, -0.5f, 1e-3f}, filled(-0.3f))) << element;
  }
}

TEST_F(FoldedWeightTest, ZerosPass) {
  EXPECT_TRUE(keeps("f16", filled(1.0f, kRows), filled(0.0f)));
  EXPECT_TRUE(keeps("f16", filled(0.0f, kRows), filled(1.0f)));
}

TEST_F(FoldedWeightTest, ProductsBelowTheTypesRangeAreRefused) {
  // 2^-20 is held by f16, as a subnormal of four bits.
  EXPECT_FALSE(keeps("f16", filled(0x1p-10f, kRows), filled(0x1.555p-10f)));
  EXPECT_TRUE(keeps("bf16", filled(0x1p-10f, kRows), filled(0x1.55p-10f)));
  EXPECT_TRUE(keeps("f32", filled(0x1p-10f, kRows), filled(0x1.555p-10f)));
  // One column of three is enough.
  std::vector<float> weights = filled(1.0f);
  for (int64_t row = 0; row < kRows; ++row)
    weights[row * kColumns + 1] = 0x1.555p-14f;
  EXPECT_FALSE(keeps("f16", filled(0x1p-6f, kRows), weights));
  // Small elements of a column with large ones lose nothing that counts.
  weights[1] = 1.0f;
  EXPECT_TRUE(keeps("f16", filled(0x1p-6f, kRows), weights));
}

/// The bound against the error itself, on columns of ever smaller products.
TEST_F(FoldedWeightTest, TheBoundHolds) {
  bool passed = false, refused = false;
  for (int exponent = 8; exponent < 26; ++exponent) {
    float value = std::ldexp(1.2345f, -exponent);
    std::vector<float> rounded(kRows * kColumns);
    double exact = 0, error = 0;
    for (size_t i = 0; i < rounded.size(); ++i) {
      rounded[i] = value * (1 + 0.1f * static_cast<float>(i));
      float stored = HostTensor::fromBytes(
                         {1}, type("f16"),
                         HostTensor::fromValues<float>({1}, type("f16"), {rounded[i]}).toBytes())
                         ->values<float>()[0];
      exact += rounded[i] * rounded[i];
      error += (stored - rounded[i]) * (stored - rounded[i]);
    }
    bool keep = keeps("f16", filled(1.0f, kRows), rounded);
    (keep ? passed : refused) = true;
    if (keep)
      EXPECT_LE(std::sqrt(error), 0x1p-9 * std::sqrt(exact)) << exponent;
  }
  EXPECT_TRUE(passed && refused);
}

TEST_F(FoldedWeightTest, ProductsAboveTheTypesRangeAreRefused) {
  EXPECT_FALSE(keeps("f16", filled(300.0f, kRows), filled(300.0f)));
  EXPECT_TRUE(keeps("bf16", filled(300.0f, kRows), filled(300.0f)));
  // In range, but not with the mean of the column subtracted.
  EXPECT_FALSE(keeps("f16", {1.0f, -1.0f, -1.0f, -1.0f}, filled(60000.0f)));
  EXPECT_FALSE(keeps("bf16", filled(1e20f, kRows), filled(1e20f)));
  EXPECT_FALSE(keeps("f32", filled(1.0f, kRows), filled(INFINITY)));
  EXPECT_FALSE(keeps("f32", filled(NAN, kRows), filled(1.0f)));
  EXPECT_FALSE(keeps("f16", filled(1.0f, kRows), filled(NAN)));
}

TEST_F(FoldedWeightTest, ReadsThroughConcatsAndViews) {
  std::string transposes = "%t = smelt.transpose %w [1, 0] : <[4, 3], f16> -> <[3, 4], f16>\n"
                           "%m = smelt.transpose %t [1, 0] : <[3, 4], f16> -> <[4, 3], f16>",
              concat = "%m = smelt.concat %w, %w axis 1 : !smelt.tensor<[4, 3], f16>, "
                       "!smelt.tensor<[4, 3], f16> -> <[4, 6], f16>";
  for (const std::string &expression : {transposes, concat}) {
    EXPECT_TRUE(keeps("f16", filled(1.0f, kRows), filled(1.0f), expression));
    EXPECT_FALSE(keeps("f16", filled(0x1p-12f, kRows), filled(0x1p-12f), expression));
  }
}

TEST_F(FoldedWeightTest, WithoutAScaleRowsAreTakenAsTheyAre) {
  for (float value : {1.0f, 0x1.554p-18f}) {
    own("w", {kRows, kColumns}, "f16", filled(value));
    auto module = mlir::parseSourceString<mlir::ModuleOp>(
        "func.func @main() {\n%w = smelt.weight \"w\" <\"w.bin\", 0, 0, \"\"> : <[4, 3], f16>\n"
        "return\n}",
        &context);
    mlir::Block &block = module->lookupSymbol<mlir::func::FuncOp>("main").getBody().front();
    EXPECT_EQ(passes::FoldedWeights(&store).keepDigits(mlir::Value(), block.front().getResult(0)),
              value == 1);
  }
}

TEST_F(FoldedWeightTest, UnknownWeightsPass) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      "func.func @main() {\n%s = smelt.weight \"s\" <\"missing.bin\", 0, 8, \"\"> : <[4], f16>\n"
      "%w = smelt.weight \"w\" <\"missing.bin\", 8, 24, \"\"> : <[4, 3], f16>\nreturn\n}",
      &context);
  mlir::Block &block = module->lookupSymbol<mlir::func::FuncOp>("main").getBody().front();
  mlir::Value scale = block.front().getResult(0), weight = std::next(block.begin())->getResult(0);
  EXPECT_TRUE(passes::FoldedWeights(&store).keepDigits(scale, weight));
  EXPECT_TRUE(passes::FoldedWeights(nullptr).keepDigits(scale, weight));
}

} // namespace
} // namespace smelt
