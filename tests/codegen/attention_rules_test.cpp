// Which of an attention's variants runs: at every size one, whose code is for the steps of keys that there are.
#include "codegen/kernel.h"
#include "codegen/printer.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include <gtest/gtest.h>

namespace smelt::codegen {
namespace {

constexpr char kText[] = R"(
func.func @f(%q: !smelt.tensor<[$b$, $h$, $s$, $d$], f16>, %k: !smelt.tensor<[$b$, $g$, $t$, $d$], f16>, %v: !smelt.tensor<[$b$, $g$, $t$, $d$], f16>$parameter$) -> !smelt.tensor<[$b$, $h$, $s$, $d$], f16> {
  %0 = smelt.fusion attention(%q, %k, %v$operand$) : (!smelt.tensor<[$b$, $h$, $s$, $d$], f16>, !smelt.tensor<[$b$, $g$, $t$, $d$], f16>, !smelt.tensor<[$b$, $g$, $t$, $d$], f16>$type$) -> !smelt.tensor<[$b$, $h$, $s$, $d$], f16> {
  ^bb0(%x: !smelt.tensor<[$b$, $h$, $s$, $d$], f16>, %y: !smelt.tensor<[$b$, $g$, $t$, $d$], f16>, %z: !smelt.tensor<[$b$, $g$, $t$, $d$], f16>$argument$):
    %1 = smelt.attention %x, %y, %z $bias${$causal$scale = 1.25e-01 : f32} : <[$b$, $h$, $s$, $d$], f16>, <[$b$, $g$, $t$, $d$], f16>, <[$b$, $g$, $t$, $d$], f16> -> <[$b$, $h$, $s$, $d$], f16>
    smelt.yield %1 : !smelt.tensor<[$b$, $h$, $s$, $d$], f16>
  }
  return %0 : !smelt.tensor<[$b$, $h$, $s$, $d$], f16>
})";

/// Batches, heads, queries and keys: numbers, or symbols of those names. Groups: heads of keys, where they
/// are not as many.
struct Sizes {
  std::string b, h, s, t;
  bool causal = false;
  int64_t headSize = 64;
  std::string groups = {};
  std::string biasHeads = {}; ///< of a bias of every score; without, there is none
};

struct AttentionRules : testing::Test {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;

  void SetUp() override { context.loadDialect<SmeltDialect, mlir::func::FuncDialect>(); }

  std::vector<KernelVariant> select(const Sizes &sizes, llvm::StringRef arch = "sm_90a") {
    bool isBiased = !sizes.biasHeads.empty();
    std::string type = format("!smelt.tensor<[1, $h$, $s$, $t$], f16>",
                              {{"h", sizes.biasHeads}, {"s", sizes.s}, {"t", sizes.t}});
    module = mlir::parseSourceString<mlir::ModuleOp>(
        format(kText, {{"parameter", isBiased ? ", %bias: " + type : ""},
                       {"operand", isBiased ? ", %bias" : ""},
                       {"type", isBiased ? ", " + type : ""},
                       {"argument", isBiased ? ", %w: " + type : ""},
                       {"bias", isBiased ? "bias %w : " + type + " " : ""},
                       {"b", sizes.b},
                       {"h", sizes.h},
                       {"g", sizes.groups.empty() ? sizes.h : sizes.groups},
                       {"s", sizes.s},
                       {"t", sizes.t},
                       {"d", std::to_string(sizes.headSize)},
                       {"causal", sizes.causal ? "causal, " : ""}}),
        &context);
    std::vector<KernelVariant> result;
    module->walk([&](FusionOp fusion) {
      auto variants = selectKernels(fusion, *Target::named(arch), {});
      ASSERT_TRUE(succeeded(variants));
      result = std::move(*variants);
    });
    return result;
  }
};

/// A number of a variant's tiling; 0: it has fewer.
int numberOf(const KernelVariant &variant, size_t index) {
  llvm::StringRef name = std::get<GeneratedKernel>(variant.launches[0]).name;
  llvm::SmallVector<llvm::StringRef> numbers;
  name.split('<').second.split('>').first.split(numbers, ", ");
  int number = 0;
  if (index < numbers.size())
    EXPECT_TRUE(llvm::to_integer(numbers[index], number)) << name.str();
  return number;
}

bool takesHeads(const KernelVariant &variant) {
  return llvm::StringRef(std::get<GeneratedKernel>(variant.launches[0]).name)
      .contains("AttentionTmaHeadsConfig");
}

/// The steps that a variant's code is for; 0: any number.
int stepsOf(const KernelVariant &variant) { return takesHeads(variant) ? 1 : numberOf(variant, 4); }

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
  int64_t steps = stepsOf(*variant), stepKeys = numberOf(*variant, takesHeads(*variant) ? 0 : 1);
  EXPECT_TRUE(steps == 0 || keys <= stepKeys * steps) << keys << " keys: " << steps;
  EXPECT_TRUE(steps != 2 || (keys > stepKeys && !causal)) << keys << " keys: " << steps;
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

std::string nameOf(const KernelVariant *variant) {
  return variant ? std::get<GeneratedKernel>(variant->launches[0]).name : "none";
}

TEST_F(AttentionRules, NarrowHeadsOfFewKeysTakeShortSteps) {
  constexpr char kShortSteps[] = "attention AttentionConfig<64, 64, 4, 2, 2>";
  auto variants = select({"20", "12", "128", "128", false, /*headSize=*/32});
  EXPECT_EQ(nameOf(chosen(variants, 20, 128, 128)), kShortSteps);
  variants = select({"32", "12", "49", "49", false, /*headSize=*/32});
  EXPECT_EQ(nameOf(chosen(variants, 32, 49, 49)), "attention AttentionConfig<64, 64, 4, 2>");
  variants = select({"20", "12", "129", "129", false, /*headSize=*/32});
  EXPECT_NE(nameOf(chosen(variants, 20, 129, 129)).find("AttentionTmaConfig"), std::string::npos);
  variants =
      select({"b", "12", "s", "s", false, /*headSize=*/32}); // registers: attention_choice.cpp
  EXPECT_NE(nameOf(chosen(variants, 20, 128, 128)).find("AttentionTmaConfig"), std::string::npos);
  variants = select({"20", "12", "128", "128"}); // wider ones do not
  EXPECT_NE(nameOf(chosen(variants, 20, 128, 128)).find("AttentionTmaConfig"), std::string::npos);
}

/// 4096 heads of one token took 50 us by tiles of 64 queries and maps, 8.5 by a warp for each (H200).
TEST_F(AttentionRules, ManyHeadsOfFewQueriesHaveTilesOfFew) {
  constexpr char kFew[] = "attention AttentionConfig<16, 64, 1, 1, 1>",
                 kBlock[] = "attention AttentionConfig<64, 64, 4, 2>";
  for (int64_t size : {64, 80, 128})
    for (bool causal : {false, true}) {
      bool takesHeads = size == 64 && !causal;
      auto variants = select({"b", "12", "s", "s", causal, size});
      for (auto [b, s] : {std::pair(11, 1), {11, 32}, {4096, 17}, {64, 8}})
        EXPECT_EQ(nameOf(chosen(variants, b, s, s)), kFew) << b << " x " << s;
      for (auto [b, s] : {std::pair(10, 1), {11, 33}, {64, 77}})
        EXPECT_NE(nameOf(chosen(variants, b, s, s)), kFew) << b << " x " << s;
      for (auto [b, s] : {std::pair(11, 33), {11, 64}, {64, 50}})
        if (!takesHeads)
          EXPECT_EQ(nameOf(chosen(variants, b, s, s)), kBlock) << b << " x " << s;
      EXPECT_NE(nameOf(chosen(variants, 64, 65, 65)), kBlock);
      auto known = select({"64", "12", "20", "20", causal, size});
      ASSERT_EQ(known.size(), 1u);
      EXPECT_EQ(nameOf(&known.front()), kFew);
    }
  auto images = select({"b", "12", "50", "50"}); // CLIP's
  EXPECT_EQ(nameOf(chosen(images, 32, 50, 50)), kBlock);
  EXPECT_EQ(nameOf(chosen(images, 64, 50, 50)), "attention AttentionTmaHeadsConfig<64, 3, 3, 2>");
  auto windows = select({"b", "12", "49", "49", false, 32, {}, /*biasHeads=*/"12"});
  EXPECT_NE(nameOf(chosen(windows, 4096, 49, 49)), kFew);
}

TEST_F(AttentionRules, ManyHeadsOfFewKeysAreTakenWhole) {
  constexpr char kShort[] = "attention AttentionTmaHeadsConfig<128, 3, 3, 2>";
  for (int64_t size : {32, 64}) {
    auto variants = select({"b", "12", "s", "s", false, size});
    for (auto [b, s] : {std::pair(22, 128), {22, 65}, {44, 64}, {44, 33}, {64, 77}, {4096, 128}})
      EXPECT_EQ(nameOf(chosen(variants, b, s, s)), kShort) << b << " x " << s;
    for (auto [b, s] : {std::pair(21, 128), {43, 64}, {64, 129}, {64, 0}, {64, 512}, {0, 128}})
      EXPECT_NE(nameOf(chosen(variants, b, s, s)), kShort) << b << " x " << s;
  }
  auto variants = select({"b", "12", "s", "t"});
  EXPECT_EQ(nameOf(chosen(variants, 64, 256, 77)), kShort);
  for (auto [s, t] : {std::pair(257, 77), {4096, 77}, {128, 0}, {0, 128}})
    EXPECT_NE(nameOf(chosen(variants, 64, s, t)), kShort) << s << " x " << t;
  auto nameAt = [&](const Sizes &sizes, const char *arch = "sm_90a") {
    return nameOf(chosen(select(sizes, arch), 64, 197, 197));
  };
  EXPECT_EQ(nameAt({"64", "12", "197", "197"}), "attention AttentionTmaHeadsConfig<208, 3, 3, 2>");
  EXPECT_EQ(nameAt({"64", "12", "100", "140"}), "attention AttentionTmaHeadsConfig<144, 3, 3, 2>");
  for (const Sizes &sizes :
       {Sizes{"64", "12", "197", "209"}, Sizes{"64", "12", "197", "197", /*causal=*/true},
        Sizes{"64", "12", "197", "197", false, /*headSize=*/72},
        Sizes{"64", "12", "197", "200", false, 64, {}, /*biasHeads=*/"12"},
        Sizes{"21", "12", "197", "197"}, Sizes{"43", "12", "64", "64"},
        Sizes{"64", "12", "257", "77"}})
    EXPECT_EQ(nameAt(sizes).find("Heads"), std::string::npos) << nameAt(sizes);
  EXPECT_NE(nameAt({"44", "12", "64", "64"}).find("Heads"), std::string::npos);
  EXPECT_EQ(nameAt({"64", "12", "197", "197"}, "sm_80").find("Heads"), std::string::npos);
}

TEST_F(AttentionRules, FewKeysComeAtOnceWhereThereAreManyBlocks) {
  constexpr char kWide[] = "attention AttentionConfig<32, 256, 8, 1, 1>";
  auto nameAt = [&](const Sizes &sizes, int64_t b = 1) {
    return nameOf(chosen(select(sizes), b, 197, 197));
  };
  EXPECT_EQ(nameAt({"1", "12", "197", "197"}), kWide); // 156 blocks of 16 rows
  EXPECT_EQ(nameAt({"1", "12", "197", "197", /*causal=*/true}), kWide);
  EXPECT_EQ(nameAt({"b", "12", "197", "197"}, 2), kWide);
  EXPECT_NE(nameAt({"b", "12", "197", "197"}, 3), kWide);    // others fill the multiprocessors
  for (const Sizes &sizes : {Sizes{"1", "10", "197", "197"}, // 130
                             Sizes{"1", "12", "197", "128"}, // one step anyway
                             Sizes{"1", "12", "197", "257"}, Sizes{"1", "12", "197", "t"},
                             Sizes{"1", "12", "197", "197", false, /*headSize=*/128},
                             Sizes{"1", "12", "197", "197", false, 64, {}, /*biasHeads=*/"12"}})
    EXPECT_NE(nameAt(sizes), kWide) << sizes.h << ' ' << sizes.t;
}

TEST_F(AttentionRules, FewQueriesTakeNoMoreRowsThanTheyFill) {
  auto variants = select({"32", "12", "50", "50"}); // CLIP's patches
  EXPECT_EQ(nameOf(chosen(variants, 32, 50, 50)), "attention AttentionConfig<64, 64, 4, 2>");
  variants = select({"32", "12", "77", "77"}, "sm_80");
  EXPECT_EQ(nameOf(chosen(variants, 32, 77, 77)), "attention AttentionConfig<128, 64, 4, 2>");
}

TEST_F(AttentionRules, WindowsLeaveRegistersForManyBlocks) {
  auto boundsOf = [&](const Sizes &sizes) {
    auto variants = select(sizes);
    std::string text = std::get<GeneratedKernel>(variants.back().launches[0]).text.text;
    return text.substr(text.find("kThreads, ") + 10, 1);
  };
  EXPECT_EQ(boundsOf({"b", "96", "49", "49", false, 32, {}, "96"}), "6"); // Swin's
  EXPECT_EQ(boundsOf({"b", "96", "49", "49", false, 64, {}, "96"}), "1");
  EXPECT_EQ(boundsOf({"b", "96", "s", "s", false, 32, {}, "96"}), "1");
  EXPECT_EQ(boundsOf({"b", "96", "49", "49", false, 32}), "1"); // without a bias of every score
}

TEST_F(AttentionRules, KeysAloneDecideWhereTheBlocksAreKnown) {
  auto variants = select({"1", "12", "20", "t"}); // too few queries for maps
  ASSERT_EQ(variants.size(), 3u);
  EXPECT_EQ(variants[0].rule.describe(), "0 to 128 keys");
  EXPECT_EQ(variants[1].rule.describe(), "0 to 256 keys");
  EXPECT_FALSE(variants[2].rule.value);
  for (int64_t t : kLengths)
    expectSteps(chosen(variants, 1, 20, t), t, false);
}

TEST_F(AttentionRules, BlocksAloneDecideWhereTheKeysAreKnown) {
  for (const char *keys : {"77", "197", "300"}) {
    auto variants = select({"b", "12", keys, keys});
    int64_t count = 0;
    ASSERT_TRUE(llvm::to_integer(keys, count));
    size_t heads = count <= 208;
    ASSERT_EQ(variants.size(), 2 + heads) << keys;
    EXPECT_EQ(variants[heads].rule.describe(), "0 to 131 blocks of 64 queries");
    EXPECT_EQ(variants[heads + 1].rule.describe(), "132 or more blocks of 64 queries");
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

bool takesBiasMap(const KernelVariant &variant) {
  const auto &kernel = std::get<GeneratedKernel>(variant.launches[0]);
  return isMapped(variant) && llvm::StringRef(kernel.text.text).contains("mapBias");
}

/// A row of biases that starts at no multiple of 16 bytes is read one by one, by a kernel of its own.
TEST_F(AttentionRules, BiasesComeByAMapWhereTheirRowsAreAligned) {
  for (int64_t size : {64, 128}) {
    Sizes sizes{"b", "8", "s", "t"};
    sizes.headSize = size, sizes.biasHeads = "8";
    auto variants = select(sizes);
    for (int64_t t : {8, 72, 512, 4096})
      EXPECT_TRUE(takesBiasMap(*chosen(variants, 32, 520, t))) << t;
    for (int64_t t : {1, 77, 197, 513, 516}) {
      const KernelVariant &other = *chosen(variants, 32, 520, t);
      EXPECT_TRUE(isMapped(other) && !takesBiasMap(other)) << t;
    }
    EXPECT_FALSE(isMapped(*chosen(variants, 1, 77, 72))); // little work
    EXPECT_FALSE(isMapped(*chosen(variants, 32, 520, 0)));
    sizes.t = "520";
    for (const KernelVariant &variant : select(sizes))
      EXPECT_EQ(isMapped(variant), takesBiasMap(variant));
    sizes.t = "516";
    for (const KernelVariant &variant : select(sizes))
      EXPECT_FALSE(takesBiasMap(variant));
  }
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

/// Blocks of a cluster that share keys; 0: so many that a second kernel merges them; none for another template.
std::optional<int> partsOf(const KernelVariant *variant) {
  llvm::StringRef name = std::get<GeneratedKernel>(variant->launches[0]).name;
  auto [before, numbers] = name.split("AttentionDecodeConfig<");
  int parts = 0;
  if (numbers.empty() || numbers.split('>').first.rsplit(", ").second.getAsInteger(10, parts))
    return std::nullopt;
  EXPECT_EQ(variant->launches.size(), parts == 0 ? 2u : 1u);
  const auto &kernel = std::get<GeneratedKernel>(variant->launches[0]);
  EXPECT_EQ(kernel.cluster[1], parts == 0 ? 1u : unsigned(parts));
  if (parts > 0)
    EXPECT_TRUE(kernel.grid[1].isConstant(parts));
  return parts;
}

/// Clusters hold no more blocks than there are multiprocessors.
TEST_F(AttentionRules, FewQueriesShareTheirKeysAmongBlocks) {
  auto parts = [&](const char *batches, const char *keys) {
    auto variants = select({batches, "64", "1", keys, /*causal=*/false, 128, "8"});
    EXPECT_EQ(variants.size(), 1u);
    return partsOf(&variants[0]).value_or(-1);
  };
  EXPECT_EQ(parts("1", "77"), 1);
  EXPECT_EQ(parts("1", "200"), 2);
  EXPECT_EQ(parts("1", "1024"), 8);
  EXPECT_EQ(parts("1", "65536"), 0);
  EXPECT_EQ(parts("4", "65536"), 4);
  EXPECT_EQ(parts("8", "65536"), 2);
  EXPECT_EQ(parts("16", "65536"), 1);
  EXPECT_EQ(parts("64", "1024"), 1);
}

TEST_F(AttentionRules, FewQueriesOfOpenSizesDoTheSame) {
  auto variants = select({"b", "64", "1", "t", /*causal=*/false, 128, "8"});
  EXPECT_EQ(variants.size(), 4u); // clusters of 8 and 2 blocks, one block, and any number
  for (int64_t t : {0, 1, 1024, 65536})
    for (int64_t b : {0, 1, 4, 16, 64})
      ASSERT_NE(chosen(variants, b, 1, t), nullptr) << b << " x " << t;
  EXPECT_EQ(partsOf(chosen(variants, 1, 1, 4096)), 8);
  EXPECT_EQ(partsOf(chosen(variants, 1, 1, 65536)), 0);
  EXPECT_EQ(partsOf(chosen(variants, 4, 1, 65536)), 2);
  EXPECT_EQ(partsOf(chosen(variants, 16, 1, 1024)), 1);
  EXPECT_EQ(partsOf(chosen(variants, 64, 1, 1024)), 1);
  EXPECT_EQ(variants[0].rule.describe(), "12 or more parts of 512 keys");
  EXPECT_EQ(variants[1].rule.describe(), "0 to 16 heads of keys");
}

/// The parts, their records and the second kernel's parameter follow from the same sizes.
TEST_F(AttentionRules, PartsOfAnyNumberFillTheScratchMemory) {
  auto variants = select({"b", "64", "1", "t", /*causal=*/false, 128, "8"});
  ASSERT_EQ(partsOf(&variants[0]), 0);
  auto valueOf = [](Dim dim) {
    return *dim.evaluate(
        [](llvm::StringRef symbol) -> std::optional<int64_t> { return symbol == "b" ? 1 : 16384; });
  };
  const auto &main = std::get<GeneratedKernel>(variants[0].launches[0]);
  const auto &merging = std::get<GeneratedKernel>(variants[0].launches[1]);
  EXPECT_EQ(valueOf(main.grid[0]), 8);
  EXPECT_EQ(valueOf(main.grid[1]), 32);   // 512 keys each
  EXPECT_EQ(valueOf(merging.grid[0]), 8); // 16 rows of 16 vectors, 32 a block
  EXPECT_EQ(valueOf(merging.grid[1]), 8);
  const auto &parts = std::get<KernelArgument::Size>(merging.arguments.back().held);
  EXPECT_EQ(valueOf(parts.value), 32);
  ASSERT_EQ(variants[0].scratch.size(), 1u);
  EXPECT_EQ(valueOf(variants[0].scratch[0].bytes), 8 * 32 * 16 * (128 + 2) * 4);
}

/// A cache is longer than what is asked of it; sequences as long as their queries are not decoded.
TEST_F(AttentionRules, OpenQueriesAreDecodedWhereTheyAreFew) {
  auto variants = select({"b", "32", "s", "t", /*causal=*/true, 64, "8"});
  EXPECT_EQ(partsOf(chosen(variants, 1, 1, 1024)), 8);
  EXPECT_EQ(partsOf(chosen(variants, 1, 4, 65536)), 0);
  EXPECT_EQ(partsOf(chosen(variants, 64, 1, 1024)), 1);
  for (int64_t batches : {1, 16, 64}) {
    EXPECT_EQ(partsOf(chosen(variants, batches, 5, 65536)), std::nullopt);
    EXPECT_EQ(partsOf(chosen(variants, batches, 512, 512)), std::nullopt);
  }
  for (const KernelVariant &variant : select({"b", "32", "s", "s", /*causal=*/true, 64, "8"}))
    EXPECT_EQ(partsOf(&variant), std::nullopt);
}

/// Many queries, many rows, short keys of one head: those have blocks of their own.
TEST_F(AttentionRules, OtherTemplatesKeepWhatTheyAreBetterAt) {
  auto isDecoded = [&](const Sizes &sizes) {
    auto variants = select(sizes);
    return partsOf(&variants[0]).has_value();
  };
  EXPECT_TRUE(isDecoded({"1", "12", "16", "129"}));
  EXPECT_FALSE(isDecoded({"1", "12", "17", "129"}));
  EXPECT_FALSE(isDecoded({"1", "12", "16", "128"}));
  EXPECT_TRUE(isDecoded({"1", "64", "8", "77", /*causal=*/false, 128, "8"}));
  EXPECT_FALSE(isDecoded({"1", "64", "9", "77", /*causal=*/false, 128, "8"}));
  EXPECT_TRUE(isDecoded({"1", "32", "2", "77", /*causal=*/false, 256, "4"}));
  EXPECT_FALSE(isDecoded({"1", "32", "3", "77", /*causal=*/false, 256, "4"})); // they would spill
}

TEST_F(AttentionRules, WithoutClustersASecondKernelMergesAllParts) {
  auto variants = select({"b", "64", "1", "t", /*causal=*/false, 128, "8"}, "sm_80");
  ASSERT_EQ(variants.size(), 2u);
  EXPECT_EQ(variants[0].rule.describe(), "2 or more parts of 512 keys");
  EXPECT_EQ(partsOf(&variants[0]), 0);
  EXPECT_EQ(partsOf(&variants[1]), 1);
  EXPECT_FALSE(variants[1].rule.value);
}

/// What cannot run is no candidate.
TEST_F(AttentionRules, ReasonsNameHeadsWhereThereMayBeSoMany) {
  auto reasonsOf = [&](const Sizes &sizes) {
    auto variants = select(sizes);
    return std::get<GeneratedKernel>(variants.back().launches[0]).why;
  };
  constexpr char kHeads[] = "AttentionTmaHeadsConfig";
  EXPECT_NE(reasonsOf({"b", "12", "s", "s"}).find(kHeads), std::string::npos);
  EXPECT_NE(reasonsOf({"64", "12", "128", "128"}).find(kHeads), std::string::npos);
  for (const Sizes &sizes : {Sizes{"1", "12", "128", "128"}, Sizes{"1", "12", "s", "s"},
                             Sizes{"b", "12", "300", "t"}, Sizes{"b", "12", "300", "300"}})
    EXPECT_EQ(reasonsOf(sizes).find(kHeads), std::string::npos) << reasonsOf(sizes);
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
