// Kernels of fused modules through NVRTC, for families of which a few texts say little: they
// compile and keep their values in registers.
#include "codegen/printer.h"
#include "tests/codegen/kernel_compiles.h"

namespace smelt::codegen {
namespace {

using SelectTest = KernelCompilesTest;

constexpr char kReductions[] = R"(
func.func @f(%x: !smelt.tensor<[n, $columns$], $type$>) -> (!smelt.tensor<[n, 1], $type$>, !smelt.tensor<[n, 1], $type$>) {
  %0:2 = smelt.fusion rowwise(%x) : (!smelt.tensor<[n, $columns$], $type$>) -> (!smelt.tensor<[n, 1], $type$>, !smelt.tensor<[n, 1], $type$>) {
  ^bb0(%a: !smelt.tensor<[n, $columns$], $type$>):
    %1 = smelt.reduce max %a axes [1] : <[n, $columns$], $type$> -> <[n, 1], $type$>
    %2 = smelt.reduce min %a axes [1] : <[n, $columns$], $type$> -> <[n, 1], $type$>
    smelt.yield %1, %2 : !smelt.tensor<[n, 1], $type$>, !smelt.tensor<[n, 1], $type$>
  }
  return %0#0, %0#1 : !smelt.tensor<[n, 1], $type$>, !smelt.tensor<[n, 1], $type$>
})";

// Rows of one warp, and of several.
TEST_F(SelectTest, ReducesRowsOfEveryType) {
  for (const char *type : {"i1", "i8", "ui8", "i16", "ui16", "i32", "ui32", "i64", "ui64", "f16",
                           "bf16", "f32", "f64"})
    for (const char *columns : {"37", "2053"})
      expectCompiles(format(kReductions, {{"type", type}, {"columns", columns}}), "sm_80");
}

constexpr char kNormalised[] = R"(
func.func @f(%g: !smelt.tensor<[n, $groups$, 2], f32>, %x: !smelt.tensor<[n, $columns$], $type$>, %w: !smelt.tensor<[$columns$, 256], $type$>) -> !smelt.tensor<[n, 256], f32> {
  %0 = smelt.fusion gemm(%g, %x, %w) : (!smelt.tensor<[n, $groups$, 2], f32>, !smelt.tensor<[n, $columns$], $type$>, !smelt.tensor<[$columns$, 256], $type$>) -> !smelt.tensor<[n, 256], f32> {
  ^bb0(%m: !smelt.tensor<[n, $groups$, 2], f32>, %a: !smelt.tensor<[n, $columns$], $type$>, %b: !smelt.tensor<[$columns$, 256], $type$>):
    %1 = smelt.matmul %a, %b : <[n, $columns$], $type$>, <[$columns$, 256], $type$> -> <[n, 256], f32>
    %2 = smelt.moments_rstd %m {epsilon = 1.0e-12 : f32} : <[n, $groups$, 2], f32> -> <[n, 1], f32>
    %3 = smelt.mul %1, %2 : <[n, 256], f32>, <[n, 1], f32> -> <[n, 256], f32>
    smelt.yield %3 : !smelt.tensor<[n, 256], f32>
  }
  return %0 : !smelt.tensor<[n, 256], f32>
})";

// Wide rows, and rows whose groups of 32 columns no two threads share evenly.
TEST_F(SelectTest, CombinesMomentsOfRowsOfAnyWidth) {
  auto normalised = [](const char *type, int groups) {
    return format(kNormalised, {{"type", type},
                                {"groups", std::to_string(groups)},
                                {"columns", std::to_string(groups * 32)}});
  };
  expectCompiles(normalised("f16", 37), "sm_80");
  expectCompiles(normalised("f16", 256), "sm_90a");
  expectCompiles(normalised("f32", 65), "sm_80");
}

constexpr char kCounted[] = R"(
func.func @f(%x: !smelt.tensor<[n, 512], $type$>, %w: !smelt.tensor<[512, $columns$], $type$>, %r: !smelt.tensor<[n, $columns$], $type$>) -> (!smelt.tensor<[n, $columns$], $type$>, !smelt.tensor<[1, 1], $count$>) {
  %0:2 = smelt.fusion gemm(%x, %w, %r) : (!smelt.tensor<[n, 512], $type$>, !smelt.tensor<[512, $columns$], $type$>, !smelt.tensor<[n, $columns$], $type$>) -> (!smelt.tensor<[n, $columns$], $type$>, !smelt.tensor<[1, 1], $count$>) {
  ^bb0(%a: !smelt.tensor<[n, 512], $type$>, %b: !smelt.tensor<[512, $columns$], $type$>, %c: !smelt.tensor<[n, $columns$], $type$>):
    %1 = smelt.matmul %a, %b : <[n, 512], $type$>, <[512, $columns$], $type$> -> <[n, $columns$], $type$>
    %2 = smelt.add %1, %c : <[n, $columns$], $type$>, <[n, $columns$], $type$> -> <[n, $columns$], $type$>
    %3 = smelt.is_inf %2 : <[n, $columns$], $type$> -> <[n, $columns$], i1>
    %4 = smelt.cast %3 : <[n, $columns$], i1> -> <[n, $columns$], $count$>
    %5 = smelt.reduce sum %4 axes [0, 1] : <[n, $columns$], $count$> -> <[1, 1], $count$>
    smelt.yield %2, %5 : !smelt.tensor<[n, $columns$], $type$>, !smelt.tensor<[1, 1], $count$>
  }
  return %0#0, %0#1 : !smelt.tensor<[n, $columns$], $type$>, !smelt.tensor<[1, 1], $count$>
})";

// At any number of rows, for totals of both types.
TEST_F(SelectTest, CountsWhatProductsStore) {
  struct Case {
    const char *type, *columns, *count;
  };
  for (Case each : {Case{"f16", "512", "i64"}, {"bf16", "77", "i32"}, {"f32", "72", "i64"}})
    for (const char *architecture : {"sm_90a", "sm_80"})
      expectCompiles(
          format(kCounted, {{"type", each.type}, {"columns", each.columns}, {"count", each.count}}),
          architecture);
}

constexpr char kProductOfSizes[] = R"(
func.func @f(%x: !smelt.tensor<[$rows$, $k$], f16>, %w: !smelt.tensor<[$k$, $n$], f16>) -> !smelt.tensor<[$rows$, $n$], f16> {
  %0 = smelt.fusion gemm(%x, %w) : (!smelt.tensor<[$rows$, $k$], f16>, !smelt.tensor<[$k$, $n$], f16>) -> !smelt.tensor<[$rows$, $n$], f16> {
  ^bb0(%a: !smelt.tensor<[$rows$, $k$], f16>, %b: !smelt.tensor<[$k$, $n$], f16>):
    %1 = smelt.matmul %a, %b : <[$rows$, $k$], f16>, <[$k$, $n$], f16> -> <[$rows$, $n$], f16>
    smelt.yield %1 : !smelt.tensor<[$rows$, $n$], f16>
  }
  return %0 : !smelt.tensor<[$rows$, $n$], f16>
})";

// What stays in shared memory has a size that the text knows; the blocks of each tile of columns are as many.
TEST_F(SelectTest, KeepsColumnsOfKnownSizesAlone) {
  auto countOf = [&](const char *n, const char *k) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(
        format(kProductOfSizes, {{"rows", "m"}, {"n", n}, {"k", k}}), &context);
    int count = 0;
    module->walk([&](FusionOp fusion) {
      auto variants = selectKernels(fusion, *Target::named("sm_90a"), {});
      ASSERT_TRUE(succeeded(variants));
      for (const GeneratedKernel *kernel : kernelsOf(*variants)) {
        auto [before, after] = llvm::StringRef(kernel->name).split("blockN ");
        int64_t blockN = 0;
        if (!after.contains("residentSteps") || after.consumeInteger(10, blockN))
          continue;
        auto manyRows = [](llvm::StringRef) { return std::optional<int64_t>(1 << 20); };
        int64_t tilesN = (480 + blockN - 1) / blockN;
        EXPECT_EQ(*kernel->grid[0].evaluate(manyRows), 132 / tilesN * tilesN) << kernel->name;
        ++count;
      }
    });
    return count;
  };
  EXPECT_GT(countOf("480", "80"), 0);
  EXPECT_EQ(countOf("n", "80"), 0);
  EXPECT_EQ(countOf("480", "k"), 0);
}

constexpr char kAttention[] = R"(
func.func @f(%q: !smelt.tensor<[b, 4, s, $head$], $type$>, %k: !smelt.tensor<[b, 4, s, $head$], $type$>, %v: !smelt.tensor<[b, 4, s, $head$], $type$>) -> !smelt.tensor<[b, 4, s, $head$], $type$> {
  %0 = smelt.fusion attention(%q, %k, %v) : (!smelt.tensor<[b, 4, s, $head$], $type$>, !smelt.tensor<[b, 4, s, $head$], $type$>, !smelt.tensor<[b, 4, s, $head$], $type$>) -> !smelt.tensor<[b, 4, s, $head$], $type$> {
  ^bb0(%a: !smelt.tensor<[b, 4, s, $head$], $type$>, %b: !smelt.tensor<[b, 4, s, $head$], $type$>, %c: !smelt.tensor<[b, 4, s, $head$], $type$>):
    %1 = smelt.attention %a, %b, %c {scale = 1.25e-01 : f32} : <[b, 4, s, $head$], $type$>, <[b, 4, s, $head$], $type$>, <[b, 4, s, $head$], $type$> -> <[b, 4, s, $head$], $type$>
    smelt.yield %1 : !smelt.tensor<[b, 4, s, $head$], $type$>
  }
  return %0 : !smelt.tensor<[b, 4, s, $head$], $type$>
})";

// On every architecture every head size has a configuration, of no more shared memory than a block
// may have; where that is 99 KB the texts are others, which must not spill either.
TEST_F(SelectTest, AttentionFitsTheSharedMemoryOfEveryArchitecture) {
  for (const char *type : {"f16", "f32"})
    for (const char *head : {"32", "64", "72", "128", "200", "256"}) {
      std::string text = format(kAttention, {{"type", type}, {"head", head}});
      auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
      ASSERT_TRUE(module) << text;
      for (const char *architecture : {"sm_80", "sm_86", "sm_87", "sm_89", "sm_90a", "sm_100",
                                       "sm_103", "sm_120", "compute_80"}) {
        Target target = *Target::named(architecture);
        module->walk([&](FusionOp fusion) {
          auto variants = selectKernels(fusion, target, {});
          ASSERT_TRUE(succeeded(variants)) << type << head << architecture;
          ASSERT_FALSE(variants->empty());
          for (const GeneratedKernel *kernel : kernelsOf(*variants))
            EXPECT_LE(static_cast<int>(kernel->sharedBytes), target.limits.sharedBytesPerBlock)
                << architecture << " " << kernel->name;
        });
      }
      if (llvm::StringRef(head) == "128" || llvm::StringRef(head) == "256")
        expectCompiles(text, "sm_86");
    }
}

// Of many rows with weights that the cache does not hold, and of no others; and the reasons tell of it.
TEST_F(SelectTest, ProductsWithLargeWeightsStartOnAnIdleGpu) {
  Target target = *Target::named("sm_90a");
  for (const char *rows : {"1", "64", "4096"})
    for (const char *size : {"768", "4096"}) {
      std::string text = format(kProductOfSizes, {{"rows", rows}, {"n", size}, {"k", size}});
      auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
      ASSERT_TRUE(module);
      module->walk([&](FusionOp fusion) {
        auto variants = selectKernels(fusion, target, {});
        ASSERT_TRUE(mlir::succeeded(variants));
        const auto &kernel = std::get<GeneratedKernel>(variants->front().launches.front());
        bool waits = std::string(rows) == "4096" && std::string(size) == "4096";
        EXPECT_EQ(kernel.programmatic, !waits) << rows << " " << size;
        EXPECT_EQ(kernel.why.find("starts when the kernel before it has ended") !=
                      std::string::npos,
                  waits)
            << kernel.why;
      });
    }
}

} // namespace
} // namespace smelt::codegen
