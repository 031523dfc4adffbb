// Which of an attention's variants runs: at every size one, whose code is for the steps of keys that there are.
#include "codegen/kernel.h"
#include "codegen/printer.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include <gtest/gtest.h>

namespace smelt::codegen {
namespace {

constexpr int64_t kStepKeys = 128;

constexpr char kText[] = R"(
func.func @f(%q: !smelt.tensor<[$b$, $h$, $s$, $d$], f16>, %k: !smelt.tensor<[$b$, $h$, $t$, $d$], f16>, %v: !smelt.tensor<[$b$, $h$, $t$, $d$], f16>) -> !smelt.tensor<[$b$, $h$, $s$, $d$], f16> {
  %0 = smelt.fusion attention(%q, %k, %v) : (!smelt.tensor<[$b$, $h$, $s$, $d$], f16>, !smelt.tensor<[$b$, $h$, $t$, $d$], f16>, !smelt.tensor<[$b$, $h$, $t$, $d$], f16>) -> !smelt.tensor<[$b$, $h$, $s$, $d$], f16> {
  ^bb0(%x: !smelt.tensor<[$b$, $h$, $s$, $d$], f16>, %y: !smelt.tensor<[$b$, $h$, $t$, $d$], f16>, %z: !smelt.tensor<[$b$, $h$, $t$, $d$], f16>):
    %1 = smelt.attention %x, %y, %z {$causal$scale = 1.25e-01 : f32} : <[$b$, $h$, $s$, $d$], f16>, <[$b$, $h$, $t$, $d$], f16>, <[$b$, $h$, $t$, $d$], f16> -> <[$b$, $h$, $s$, $d$], f16>
    smelt.yield %1 : !smelt.tensor<[$b$, $h$, $s$, $d$], f16>
  }
  return %0 : !smelt.tensor<[$b$, $h$, $s$, $d$], f16>
})";

/// Batches, heads, queries and keys: numbers, or symbols of those names.
struct Sizes {
  std::string b, h, s, t;
  bool causal = false;
  int64_t headSize = 64;
};

struct AttentionRules : testing::Test {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;

  void SetUp() override { context.loadDialect<SmeltDialect, mlir::func::FuncDialect>(); }

  std::vector<KernelVariant> select(const Sizes &sizes) {
    module = mlir::parseSourceString<mlir::ModuleOp>(
        format(kText, {{"b", sizes.b},
                       {"h", sizes.h},
                       {"s", sizes.s},
                       {"t", sizes.t},
                       {"d", std::to_string(sizes.headSize)},
                       {"causal", sizes.causal ? "causal, " : ""}}),
        &context);
    std::vector<KernelVariant> result;
    module->walk([&](FusionOp fusion) {
      auto variants = selectKernels(fusion, *Target::named("sm_90a"), /*tf32=*/false);
      ASSERT_TRUE(succeeded(variants));
      result = std::move(*variants);
    });
    return result;
  }
};

/// The steps that a variant's code is for; 0: any number.
int stepsOf(const KernelVariant &variant) {
  llvm::StringRef name = std::get<GeneratedKernel>(variant.launches[0]).name;
  llvm::SmallVector<llvm::StringRef> numbers;
  name.split('<').second.split('>').first.split(numbers, ", ");
  int steps = 0;
  if (numbers.size() == 5)
    EXPECT_TRUE(llvm::to_integer(numbers[4], steps)) << name.str();
  return steps;
}

const KernelVariant *chosen(const std::vector<KernelVariant> &variants, int64_t b, int64_t s,
                            int64_t t) {
  auto lookup = [&](llvm::StringRef symbol) -> std::optional<int64_t> {
    return symbol == "b" ? b : symbol == "s" ? s : t;
  };
  for (const KernelVariant &variant : variants) {
    if (!variant.rule.value)
      return &variant;
    int64_t value = *variant.rule.value.evaluate(lookup);
    if (variant.rule.first <= value && value <= variant.rule.last)
      return &variant;
  }
  return nullptr;
}

const int64_t kLengths[] = {0, 1, 77, 128, 129, 197, 256, 257, 513, 4096};

void expectSteps(const KernelVariant *variant, int64_t keys, bool causal) {
  ASSERT_NE(variant, nullptr) << keys << " keys";
  int steps = stepsOf(*variant);
  EXPECT_TRUE(steps == 0 || keys <= kStepKeys * steps) << keys << " keys: " << steps;
  EXPECT_TRUE(steps != 2 || (keys > kStepKeys && !causal)) << keys << " keys: " << steps;
}

TEST_F(AttentionRules, EveryOpenShapeHasCodeForItsSteps) {
  for (bool causal : {false, true})
    for (const char *heads : {"4", "12", "500"}) {
      auto variants = select({"b", heads, "s", "s", causal});
      for (int64_t b : {0, 1, 3, 64})
        for (int64_t s : kLengths)
          expectSteps(chosen(variants, b, s, s), s, causal);
    }
  auto variants = select({"1", "12", "s", "s"});
  EXPECT_EQ(stepsOf(*chosen(variants, 1, 77, 77)), 1);
  EXPECT_EQ(stepsOf(*chosen(variants, 1, 197, 197)), 2);
  EXPECT_EQ(stepsOf(*chosen(variants, 1, 257, 257)), 0);
}

TEST_F(AttentionRules, KeysAloneDecideWhereTheBlocksAreKnown) {
  auto variants = select({"1", "12", "1", "t"}); // too few queries for maps
  ASSERT_EQ(variants.size(), 3u);
  EXPECT_EQ(variants[0].rule.describe(), "0 to 128 keys");
  EXPECT_EQ(variants[1].rule.describe(), "0 to 256 keys");
  EXPECT_FALSE(variants[2].rule.value);
  for (int64_t t : kLengths)
    expectSteps(chosen(variants, 1, 1, t), t, false);
}

TEST_F(AttentionRules, BlocksAloneDecideWhereTheKeysAreKnown) {
  for (const char *keys : {"77", "197", "300"}) {
    auto variants = select({"b", "12", keys, keys});
    ASSERT_EQ(variants.size(), 2u) << keys;
    EXPECT_EQ(variants[0].rule.describe(), "0 to 131 blocks of 64 queries");
    EXPECT_EQ(variants[1].rule.describe(), "132 or more blocks of 64 queries");
    int64_t count = 0;
    ASSERT_TRUE(llvm::to_integer(keys, count));
    for (int64_t b : {0, 1, 3, 64})
      expectSteps(chosen(variants, b, count, count), count, false);
  }
}

bool isMapped(const KernelVariant &variant) {
  return llvm::StringRef(std::get<GeneratedKernel>(variant.launches[0]).name)
      .contains("AttentionTmaConfig");
}

/// A map describes no tensor without elements, and a block of few rows is not worth one.
TEST_F(AttentionRules, MapsAreForMuchWork) {
  auto variants = select({"b", "12", "s", "t"});
  EXPECT_FALSE(isMapped(*chosen(variants, 1, 77, 128)));
  EXPECT_TRUE(isMapped(*chosen(variants, 8, 512, 512)));
  EXPECT_TRUE(isMapped(*chosen(variants, 8, 512, 1)));
  EXPECT_FALSE(isMapped(*chosen(variants, 8, 512, 0)));
  EXPECT_FALSE(isMapped(*chosen(select({"b", "12", "49", "49"}), 64, 49, 49)));
}

/// Any other of more than 128 elements was never run by them.
TEST_F(AttentionRules, HugeHeadsHaveMapsAtOneSize) {
  for (int64_t size : {128, 136, 192, 224, 240, 256}) {
    auto variants = select({"b", "12", "s", "t", /*causal=*/false, size});
    EXPECT_EQ(isMapped(*chosen(variants, 8, 512, 512)), size == 128 || size == 256) << size;
  }
}

TEST_F(AttentionRules, MapsHaveAxesOfRowsHeadsAndBatches) {
  auto variants = select({"b", "12", "s", "t", /*causal=*/true});
  const auto &kernel = std::get<GeneratedKernel>(variants.back().launches[0]);
  ASSERT_TRUE(isMapped(variants.back()));
  const auto &keys = std::get<TensorMap>(kernel.arguments[kernel.arguments.size() - 2].held);
  auto text = [](llvm::ArrayRef<Dim> dims) {
    std::string result;
    for (Dim dim : dims)
      result += dim.toString() + ";";
    return result;
  };
  EXPECT_EQ(text(keys.sizes), "64;t;12;b;");
  EXPECT_EQ(text(keys.byteStrides), "128;128*t;1536*t;");
  EXPECT_EQ(keys.box, (llvm::SmallVector<unsigned>{64, 128, 1, 1}));
}

TEST_F(AttentionRules, KnownShapesHaveOneKernel) {
  for (const char *keys : {"1", "77", "197", "300"}) {
    auto variants = select({"3", "12", keys, keys});
    ASSERT_EQ(variants.size(), 1u) << keys;
    EXPECT_FALSE(variants[0].rule.value);
  }
}

} // namespace
} // namespace smelt::codegen
