// Which products of a module may be measured, and where.
#include "codegen/tunable.h"

#include "codegen/printer.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

namespace smelt::codegen {
namespace {

/// A product with weights; its rows are those of $shape$.
constexpr char kProduct[] = R"(
func.func @main(%x: !smelt.tensor<[$shape$, 256], f16>) -> !smelt.tensor<[$shape$, 512], f16> {
  %w = smelt.weight "w" <"w.bin", 0, 262144, ""> : <[256, 512], f16>
  %0 = smelt.fusion gemm(%x, %w) : (!smelt.tensor<[$shape$, 256], f16>, !smelt.tensor<[256, 512], f16>) -> !smelt.tensor<[$shape$, 512], f16> {
  ^bb0(%a: !smelt.tensor<[$shape$, 256], f16>, %b: !smelt.tensor<[256, 512], f16>):
    %1 = smelt.matmul %a, %b : <[$shape$, 256], f16>, <[256, 512], f16> -> <[$shape$, 512], f16>
    %2 = smelt.relu %1 : <[$shape$, 512], f16>
    smelt.yield %2 : !smelt.tensor<[$shape$, 512], f16>
  }
  return %0 : !smelt.tensor<[$shape$, 512], f16>
})";

struct TunableTest : testing::Test {
  TunableTest() { context.loadDialect<SmeltDialect, mlir::func::FuncDialect>(); }

  std::vector<TunableProduct> productsOf(const std::string &text) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    if (!module)
      return {};
    auto products = tunableProducts(*module, *Target::named("sm_90a"), /*tf32=*/false, 4);
    EXPECT_TRUE(products.isOk()) << products.status().message();
    return products.isOk() ? *products : std::vector<TunableProduct>();
  }
  std::vector<TunableProduct> products(const std::string &shape) {
    return productsOf(format(kProduct, {{"shape", shape}}));
  }

  mlir::MLIRContext context;
};

TEST_F(TunableTest, AKnownNumberOfRowsIsOnePoint) {
  std::vector<TunableProduct> found = products("2, 32");
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(found[0].points.size(), 1u);
  EXPECT_EQ(found[0].points[0].rows, 64);
  EXPECT_EQ(found[0].points[0].tilings.size(), 4u);
  EXPECT_EQ(found[0].kernels.size(), 4u);
  EXPECT_NE(found[0].description.find("512 columns, 256 deep"), std::string::npos);
}

TEST_F(TunableTest, OpenRowsAreMeasuredInEveryRangeAtSizesThatLeadThere) {
  std::vector<TunableProduct> found = products("batch, 197");
  ASSERT_EQ(found.size(), 1u);
  ASSERT_GT(found[0].points.size(), 1u);
  for (const TunableProduct::Point &point : found[0].points)
    EXPECT_EQ(point.rows, 197 * point.sizes.at("batch"));
}

TEST_F(TunableTest, OneOfSeveralSizesVaries) {
  std::vector<TunableProduct> found = products("batch, seq");
  ASSERT_EQ(found.size(), 1u);
  for (const TunableProduct::Point &point : found[0].points) {
    EXPECT_EQ(point.rows, point.sizes.at("batch") * point.sizes.at("seq"));
    EXPECT_EQ(std::min(point.sizes.at("batch"), point.sizes.at("seq")), 1);
  }
}

// What a worker builds of the fusion by itself is what the plan of the model will hold.
TEST_F(TunableTest, TheProductAloneHasTheSameKeyAndKernels) {
  for (const char *shape : {"64", "n", "batch, seq", "batch, 197"}) {
    std::vector<TunableProduct> found = products(shape);
    ASSERT_EQ(found.size(), 1u);
    std::vector<TunableProduct> alone = productsOf(found[0].module);
    ASSERT_EQ(alone.size(), 1u);
    EXPECT_EQ(alone[0].key, found[0].key);
    ASSERT_EQ(alone[0].kernels.size(), found[0].kernels.size());
    for (size_t i = 0; i < found[0].kernels.size(); ++i)
      EXPECT_EQ(alone[0].kernels[i].entry, found[0].kernels[i].entry);
  }
  EXPECT_NE(products("64")[0].key, products("128")[0].key);
  EXPECT_EQ(products("n")[0].key, products("rows")[0].key); // names of sizes are no matter
}

TEST_F(TunableTest, ATilingThatIsAskedForIsTakenAtAllSizes) {
  auto module =
      mlir::parseSourceString<mlir::ModuleOp>(format(kProduct, {{"shape", "n"}}), &context);
  ASSERT_TRUE(module);
  Target target = *Target::named("sm_90a");
  std::string tiling = products("n")[0].points[0].tilings[3];
  module->walk([&](FusionOp fusion) {
    auto variants = selectKernels(fusion, target, {.tiling = tiling});
    ASSERT_TRUE(succeeded(variants));
    ASSERT_EQ(variants->size(), 1u);
    EXPECT_FALSE(variants->front().rule.value);
    EXPECT_TRUE(llvm::StringRef(kernelsOf(*variants)[0]->name).ends_with(tiling));
    mlir::ScopedDiagnosticHandler quiet(&context,
                                        [](mlir::Diagnostic &) { return mlir::success(); });
    EXPECT_TRUE(failed(selectKernels(fusion, target, {.tiling = "none such"})));
  });
}

// What is measured is a kernel among its like, so that differences of a percent decide nothing.
TEST_F(TunableTest, OfTilingsHardlyApartTheModelsChoiceStays) {
  TunableProduct product = products("64")[0];
  const std::vector<std::string> &tilings = product.points[0].tilings;
  auto module =
      mlir::parseSourceString<mlir::ModuleOp>(format(kProduct, {{"shape", "64"}}), &context);
  ASSERT_TRUE(module);
  auto nameBy = [&](std::vector<double> microseconds) {
    Tuning tuning("a GPU", "sm_90a");
    for (size_t i = 0; i < tilings.size(); ++i)
      tuning.add(product.key, product.description, {64, tilings[i], microseconds[i]});
    std::string name;
    module->walk([&](FusionOp fusion) {
      auto variants = selectKernels(fusion, *Target::named("sm_90a"), {.tuning = &tuning});
      ASSERT_TRUE(succeeded(variants));
      name = kernelsOf(*variants)[0]->name;
    });
    return name;
  };
  EXPECT_TRUE(llvm::StringRef(nameBy({2.02, 2.0, 9, 9})).ends_with(tilings[0]));
  EXPECT_TRUE(llvm::StringRef(nameBy({2.1, 2.0, 9, 9})).ends_with(tilings[1]));
  EXPECT_TRUE(llvm::StringRef(nameBy({2.1, 2.02, 9, 2.0})).ends_with(tilings[1]));
}

TEST_F(TunableTest, WeightsOfAllProductsCount) {
  auto bytesOf = [&](const std::string &text) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    return module ? productWeightBytes(*module) : -1;
  };
  EXPECT_EQ(bytesOf(format(kProduct, {{"shape", "n"}})), 262144);
  EXPECT_EQ(bytesOf("func.func @main(%x: !smelt.tensor<[n], f32>) -> !smelt.tensor<[n], f32> {\n"
                    "  return %x : !smelt.tensor<[n], f32>\n}"),
            0);
}

} // namespace
} // namespace smelt::codegen
