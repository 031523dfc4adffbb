#include "codegen/kernels/gemm/gemm_choice.h"

#include "codegen/target.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

namespace smelt::codegen {
namespace {

constexpr int64_t kRows[] = {1, 7, 16, 17, 33, 64, 77, 128, 197, 231, 400, 513, 1000, 4096, 12608};

bool anything(const GemmChoice &) { return true; }

const GemmChoice &choiceFor(const std::vector<GemmRange> &ranges, int64_t rows) {
  for (const GemmRange &range : ranges)
    if (!range.lastRow || rows <= *range.lastRow)
      return range.choice;
  return ranges.back().choice;
}

/// What the model says of a tiling at a row count, over the fastest there.
double slowdown(const std::vector<GemmChoice> &ranked, const GemmChoice &choice) {
  for (const GemmChoice &each : ranked)
    if (each == choice)
      return each.microseconds / ranked.front().microseconds;
  ADD_FAILURE() << choice.name << " does not fit";
  return 0;
}

/// What parameters of a template's tilings are called, in their order in tests/kernels/h200_gemm_*.txt.
std::vector<const char *> parametersOf(const std::string &name) {
  if (name == "mma")
    return {"blockM", "blockN", "blockK", "warpsM", "warpsN", "stages", "clusterK", "warpsK"};
  if (name == "wgmma")
    return {"blockM", "blockN", "stages", "clusterK", "helpers"};
  return {"blockM", "blockN", "stages", "pingPong", "clusterK"};
}

/// Microseconds by the names of tilings.
using Measured = std::map<std::string, double>;

/// Of each m, n and k.
using Products = std::map<std::tuple<int64_t, int64_t, int64_t>, Measured>;

void readMeasured(const char *path, Products &products) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line[0] == '#')
      continue;
    std::istringstream in(line);
    std::string name;
    int64_t m = 0, n = 0, k = 0;
    in >> name >> m >> n >> k;
    std::string tiling = name == "tma" ? "wgmma, tma" : name;
    const char *separator = " ";
    for (const char *parameter : parametersOf(name)) {
      int value = 0;
      in >> value;
      tiling += separator + std::string(parameter) + " " + std::to_string(value);
      separator = ", ";
    }
    double &microseconds = products[{m, n, k}][tiling];
    EXPECT_TRUE(in >> microseconds) << line;
  }
}

TEST(GemmRanking, TakesNoMoreStagesThanAShortKHasSteps) {
  auto nameAt = [](int64_t k) -> std::string {
    GemmShape shape = {128, 1536, k, 1, 0, /*allowsTensorMaps=*/true};
    for (const GemmChoice &choice :
         rankGemmTilings(shape, GemmPrecision::halfWidth, *Target::named("sm_90a")))
      if (choice.usesTensorMaps && choice.blockM == 64 && choice.blockN == 64 &&
          choice.clusterK == 1)
        return choice.name;
    return "";
  };
  EXPECT_NE(nameAt(384).find("stages 6"), std::string::npos) << nameAt(384);
  EXPECT_NE(nameAt(392).find("stages 12"), std::string::npos) << nameAt(392);
}

/// The first choice of sm_90a for halves.
std::string chosenName(const GemmShape &shape) {
  return rankGemmTilings(shape, GemmPrecision::halfWidth, *Target::named("sm_90a")).front().name;
}

TEST(GemmRanking, GivesABlockOneTileWhereRowsAreFew) {
  auto hasOneTile = [](int64_t m, int64_t n, int64_t k) {
    return chosenName({m, n, k, 1, 0, /*allowsTensorMaps=*/true}).find("oneTile 1") !=
           std::string::npos;
  };
  for (int64_t rows : {77, 128, 197, 400}) // measured in models: BERT, ViT
    EXPECT_TRUE(hasOneTile(rows, 2304, 768)) << rows;
  EXPECT_TRUE(hasOneTile(128, 768, 3072)); // in a cluster
  EXPECT_FALSE(hasOneTile(1, 2304, 768));
  for (int64_t rows : {2048, 4096, 12608})
    EXPECT_FALSE(hasOneTile(rows, 2304, 768)) << rows;
}

/// Whether some tiling, or the first alone, keeps its columns of B.
bool keepsColumns(const GemmShape &shape, bool first,
                  GemmPrecision precision = GemmPrecision::halfWidth) {
  auto ranked = rankGemmTilings(shape, precision, *Target::named("sm_90a"));
  if (first)
    return ranked.front().keepsColumns;
  return llvm::any_of(ranked, [](const GemmChoice &choice) { return choice.keepsColumns; });
}

TEST(GemmRanking, KeepsColumnsOfAShortKWhereRowsAreMany) {
  auto shapeOf = [](int64_t m, int64_t n, int64_t k) {
    return GemmShape{m, n, k, 1, 0, /*allowsTensorMaps=*/true};
  };
  // Measured in models: EfficientNet, Swin, ConvNeXt.
  for (auto [m, n, k] : {std::tuple(200704, 96, 16), {50176, 288, 96}, {50176, 384, 96}})
    EXPECT_TRUE(keepsColumns(shapeOf(m, n, k), true)) << m << 'x' << n << 'x' << k;
  EXPECT_FALSE(keepsColumns(shapeOf(128, 1152, 384), true)); // no turns to take
  EXPECT_TRUE(keepsColumns(shapeOf(50176, 96, 384), false));
  EXPECT_FALSE(keepsColumns(shapeOf(50176, 96, 392), false)); // does not fit
  EXPECT_TRUE(keepsColumns(shapeOf(50176, 5632, 96), false));
  EXPECT_FALSE(keepsColumns(shapeOf(50176, 5640, 96), false)); // hardly any rows at once
  GemmShape moments = shapeOf(50176, 96, 96);
  moments.storesMoments = true;
  EXPECT_FALSE(keepsColumns(moments, false));
  EXPECT_TRUE(keepsColumns(shapeOf(50176, 96, 768), false, GemmPrecision::int8)); // twice as deep
  EXPECT_FALSE(keepsColumns(shapeOf(50176, 96, 784), false, GemmPrecision::int8));
  EXPECT_FALSE(keepsColumns(shapeOf(50176, 96, 96), false, GemmPrecision::float8));
}

TEST(GemmRanking, CountsTheAddressesOfWindows) {
  GemmShape shape = {196, 256, 2304, 1, 0, /*allowsTensorMaps=*/true};
  shape.hasWindows = true; // ResNet-50 of one image: by copies of addresses 1.7 us more
  EXPECT_NE(chosenName(shape).find("tma"), std::string::npos) << chosenName(shape);
  shape.allowsTensorMaps = false; // then all templates address them
  GemmShape matrix = shape;
  matrix.hasWindows = false;
  EXPECT_EQ(chosenName(shape), chosenName(matrix));
}

TEST(GemmRanking, LeavesNeighboursMultiprocessors) {
  GemmShape shape = {128, 1152, 384,
                     1,   0,    /*allowsTensorMaps=*/true}; // MiniLM, 9 % slower by 32 columns
  EXPECT_NE(chosenName(shape).find("blockN 64"), std::string::npos) << chosenName(shape);
  shape = {197, 768, 3072, 1, 0, /*allowsTensorMaps=*/true}; // ViT, 1 % slower by 128 x 64 in fours
  EXPECT_NE(chosenName(shape).find("clusterK 2"), std::string::npos) << chosenName(shape);
}

TEST(GemmRanking, FinishesFunctionsInNarrowTiles) {
  GemmShape shape = {128, 1536, 384, 1, 0, /*allowsTensorMaps=*/true};
  shape.callsFunctions = true; // MiniLM's GELU: by 64 columns 1 us more
  EXPECT_NE(chosenName(shape).find("blockN 32"), std::string::npos) << chosenName(shape);
  std::vector<GemmRange> ranges =
      chooseGemmRanges(shape, GemmPrecision::halfWidth, *Target::named("sm_90a"), anything);
  auto range = llvm::find_if(
      ranges, [](const GemmRange &each) { return !each.lastRow || *each.lastRow >= 128; });
  EXPECT_EQ(range->choice.blockN, 32) << range->choice.name; // of any number of rows, too
}

TEST(GemmRanking, ChoosesWellAmongAllTemplatesAtFewRows) {
  constexpr double kMostForOne = 1.16, kMostOnAverage = 1.03;
  Target target = *Target::named("sm_90a");
  double logSum = 0;
  Products products;
  readMeasured(SMELT_TESTS_DIR "/kernels/h200_gemm_few_rows.txt", products);
  readMeasured(SMELT_TESTS_DIR "/kernels/h200_gemm_mma.txt", products);
  ASSERT_GT(products.size(), 60u);
  for (const auto &[product, measured] : products) {
    auto [m, n, k] = product;
    double best = 1e9, chosen = 0;
    for (const auto &[tiling, microseconds] : measured)
      best = std::min(best, microseconds);
    for (const GemmChoice &choice :
         rankGemmTilings({m, n, k, 1, 0, true}, GemmPrecision::halfWidth, target))
      if (auto found = measured.find(choice.name); found != measured.end()) {
        chosen = found->second;
        break;
      }
    EXPECT_LE(chosen, kMostForOne * best) << m << " " << n << " " << k;
    ASSERT_GT(chosen, 0) << m << " " << n << " " << k;
    logSum += std::log(chosen / best);
  }
  EXPECT_LE(std::exp(logSum / double(products.size())), kMostOnAverage);
}

/// A product of a model with what its tilings took.
struct ModelProduct {
  GemmShape shape;
  Measured measured;
};

/// `product`: B lies as [k][n]; `turned`: as [n][k]; `plain`: as [k][n], and sums are rounded, nothing else.
std::vector<ModelProduct> readTuned(const std::string &name) {
  std::vector<ModelProduct> products;
  std::map<std::string, std::string> tilings; // by the names that they have there
  std::ifstream file(SMELT_TESTS_DIR "/kernels/" + name);
  for (std::string line, kind, name; std::getline(file, line);) {
    std::istringstream in(line);
    in >> kind;
    if (kind == "tiling") {
      in >> name;
      std::getline(in >> std::ws, tilings[name]);
    } else if (kind == "product" || kind == "turned" || kind == "plain") {
      GemmShape shape{0, 0, 0, 1};
      shape.isRightAlongK = kind == "turned";
      shape.readsRows = kind != "plain";
      EXPECT_TRUE(in >> shape.m >> shape.n >> shape.k >> shape.allowsTensorMaps >>
                  shape.storesMoments >> shape.isInFragments)
          << line;
      products.push_back({shape, {}});
      for (double microseconds; in >> name >> microseconds;)
        products.back().measured[tilings.at(name)] = microseconds;
    }
  }
  return products;
}

/// How much longer the tilings that the costs choose take than the best that was measured.
void expectChosenWell(const std::vector<ModelProduct> &products, size_t count, double mostForOne,
                      double mostOnAverage) {
  Target target = *Target::named("sm_90a");
  ASSERT_GE(products.size(), count);
  double logSum = 0, worst = 1;
  for (const auto &[shape, measured] : products) {
    std::string name =
        std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" + std::to_string(shape.k);
    double best = 1e9, chosen = 0;
    std::string tiling;
    for (const auto &[each, microseconds] : measured)
      best = std::min(best, microseconds);
    for (const GemmChoice &choice : rankGemmTilings(shape, GemmPrecision::halfWidth, target))
      if (auto found = measured.find(choice.name); chosen == 0 && found != measured.end())
        std::tie(tiling, chosen) = *found;
    ASSERT_GT(chosen, 0) << name;
    EXPECT_LE(chosen, mostForOne * best) << name << " by " << tiling;
    logSum += std::log(chosen / best);
    worst = std::max(worst, chosen / best);
  }
  double mean = std::exp(logSum / double(products.size()));
  std::printf("%zu products: chosen over best %.4f on average, %.3f at worst\n", products.size(),
              mean, worst);
  EXPECT_LE(mean, mostOnAverage);
}

/// Of the suite's models, on an H100.
TEST(GemmRanking, ChoosesWellForProductsOfModels) {
  expectChosenWell(readTuned("h100_gemm.txt"), 100, 1.17, 1.02);
}

/// Of the benchmark's shapes and those of MiniLM, in both layouts of B.
TEST(GemmRanking, ChoosesWellInBothLayouts) {
  expectChosenWell(readTuned("h100_gemm_layouts.txt"), 100, 1.38, 1.025);
}

/// Of few rows and a long K, whose weights memory brings for most of the time.
TEST(GemmRanking, ChoosesWellWhereWeightsStream) {
  expectChosenWell(readTuned("h200_gemm_long_k.txt"), 8, 1.06, 1.03);
}

/// Of the weights of language models, which stream through the caches.
TEST(GemmRanking, ChoosesWellWhereTheWeightsOfLanguageModelsStream) {
  expectChosenWell(readTuned("h200_gemm_streamed_weights.txt"), 88, 1.29, 1.02);
}

/// Of rows that no tile divides, or few, up to half of a wave.
TEST(GemmRanking, ChoosesWellForOddRows) {
  expectChosenWell(readTuned("h200_gemm_odd_rows.txt"), 54, 1.15, 1.02);
}

TEST(GemmRanking, TakesTilesForOddRowsForPlainProductsAlone) {
  Target target = *Target::named("sm_90a");
  auto offers = [&](const GemmShape &shape, GemmPrecision precision) {
    return llvm::any_of(rankGemmTilings(shape, precision, target),
                        [](const GemmChoice &choice) { return choice.isForOddRows; });
  };
  GemmShape plain{513, 2048, 2048, 1, 0, /*allowsTensorMaps=*/true};
  plain.isRightAlongK = false, plain.isInFragments = true, plain.readsRows = false;
  EXPECT_TRUE(rankGemmTilings(plain, GemmPrecision::halfWidth, target).front().isForOddRows);
  EXPECT_FALSE(offers(plain, GemmPrecision::float8));
  GemmShape residual = plain, functions = plain, windows = plain, shallow = plain;
  residual.readsRows = true, functions.callsFunctions = true;
  windows.hasWindows = true, shallow.k = 384;
  for (const GemmShape &shape : {residual, functions, windows, shallow})
    EXPECT_FALSE(offers(shape, GemmPrecision::halfWidth));
}

/// 128x4096x14336 takes 56 us by four blocks for each tile, 44 without; 77x2048x8192 17 and 20 (H200).
TEST(GemmRanking, SharesKAmongFourWhereTheCacheHoldsTheWeights) {
  GemmShape shape{77, 2048, 8192, 1, 0, /*allowsTensorMaps=*/true};
  shape.isRightAlongK = false, shape.isInFragments = true, shape.readsRows = false;
  EXPECT_NE(chosenName(shape).find("clusterK 4"), std::string::npos) << chosenName(shape);
  shape.m = 128, shape.n = 4096, shape.k = 14336;
  EXPECT_EQ(chosenName(shape).find("clusterK 4"), std::string::npos) << chosenName(shape);
}

/// What was measured for odd rows says nothing of a single tile of rows (16x4096x4096 is fastest by clusters of two), nor of a
/// longer K (128x4096x14336 took 46.6 us by the tiling that it chose, by 64 x 64 41; H200).
TEST(GemmRanking, ChoosesForPlainProductsAsForOthersWhereOddRowsWereNotMeasured) {
  auto expectAlike = [](int64_t rows, int64_t columns, int64_t depth) {
    GemmShape plain{rows, columns, depth, 1, 0, /*allowsTensorMaps=*/true};
    plain.isRightAlongK = false, plain.isInFragments = true, plain.readsRows = false;
    GemmShape residual = plain;
    residual.readsRows = true;
    EXPECT_EQ(chosenName(plain), chosenName(residual)) << rows << "x" << columns << "x" << depth;
  };
  for (int64_t rows : {1, 8, 16, 33, 64})
    for (int64_t columns : {512, 1024, 2048, 4096, 11008, 14336, 32000, 128256})
      for (int64_t depth : {512, 2048, 4096, 8192, 11008, 14336})
        expectAlike(rows, columns, depth);
  for (int64_t rows : {77, 128, 197, 256})
    expectAlike(rows, 4096, 14336);
}

TEST(GemmRanking, TakesNoTilesOfWhichHalfIsEmpty) {
  Target target = *Target::named("sm_90a");
  std::vector<GemmChoice> ranked =
      rankGemmTilings({802816, 64, 256, 1, 0, true}, GemmPrecision::halfWidth, target);
  EXPECT_TRUE(ranked.front().usesTensorMaps) << ranked.front().name;
  for (const GemmChoice &choice : ranked)
    EXPECT_FALSE(choice.usesTensorMaps && choice.blockN >= 128) << choice.name;
}

/// 200704x64x64 takes mma 24 us, and 19 by tensor maps (H200): its model counts no results.
TEST(GemmRanking, LeavesManyRowsToTensorMaps) {
  Target target = *Target::named("sm_90a");
  for (int64_t n : {33, 64, 256}) {
    GemmShape shape{200704, n, 64, 1, 0, true};
    EXPECT_TRUE(rankGemmTilings(shape, GemmPrecision::halfWidth, target).front().usesTensorMaps);
    shape.allowsTensorMaps = false;
    EXPECT_FALSE(rankGemmTilings(shape, GemmPrecision::halfWidth, target).front().usesTensorMaps);
  }
}

/// Three warpgroups have registers for no other epilogue; 2048x2304x768 takes them 12.8 us, ping-pong 14.4 (H200).
TEST(GemmRanking, TakesThreeWarpgroupsWhereResultsStayInFragments) {
  Target target = *Target::named("sm_90a");
  GemmShape shape{2048, 2304, 768, 1, 0, true};
  shape.isRightAlongK = false; // where it is, 128 x 96 takes 13.1 us (H100; 192 x 192 13.5)
  auto isOfThree = [](const GemmChoice &choice) {
    return choice.usesTensorMaps && choice.blockM == 192;
  };
  for (const GemmChoice &choice : rankGemmTilings(shape, GemmPrecision::halfWidth, target))
    EXPECT_FALSE(isOfThree(choice)) << choice.name;
  shape.isInFragments = true;
  EXPECT_TRUE(isOfThree(rankGemmTilings(shape, GemmPrecision::halfWidth, target).front()));
}

TEST(GemmRanges, FollowEachOtherAndEndWithAnyRowCount) {
  Target target = *Target::named("sm_90a");
  std::vector<GemmRange> ranges =
      chooseGemmRanges({0, 2304, 768, 1, 0, true}, GemmPrecision::halfWidth, target, anything);
  ASSERT_GT(ranges.size(), 3u);
  EXPECT_FALSE(ranges.back().lastRow);
  int64_t last = 0;
  for (size_t i = 0; i + 1 < ranges.size(); ++i) {
    ASSERT_TRUE(ranges[i].lastRow);
    EXPECT_GT(*ranges[i].lastRow, last);
    EXPECT_FALSE(ranges[i].choice == ranges[i + 1].choice);
    last = *ranges[i].lastRow;
  }
}

TEST(GemmRanges, StayCloseToTheFastestWithFewTilings) {
  for (const char *arch : {"sm_80", "sm_90a", "sm_103", "sm_120"})
    for (GemmPrecision precision : {GemmPrecision::halfWidth, GemmPrecision::int8,
                                    GemmPrecision::tf32, GemmPrecision::float32})
      for (auto [n, k] : {std::pair{768, 768}, {2304, 768}, {768, 3072}, {384, 384}, {1000, 77}}) {
        Target target = *Target::named(arch);
        GemmShape shape{0, n, k, 1, 0, true};
        std::vector<GemmRange> ranges = chooseGemmRanges(shape, precision, target, anything);
        ASSERT_FALSE(ranges.empty());
        std::set<std::string> tilings;
        for (const GemmRange &range : ranges)
          tilings.insert(range.choice.config);
        EXPECT_LE(tilings.size(), 11u) << arch << " " << n << " " << k;
        double sum = 0;
        for (int64_t rows : kRows) {
          shape.m = rows;
          double times =
              slowdown(rankGemmTilings(shape, precision, target), choiceFor(ranges, rows));
          // Waves of other numbers of multiprocessors end between the row counts that stand for all.
          EXPECT_LE(times, target.part.multiprocessors == 132 ? 1.12 : 1.3)
              << arch << " " << rows << " " << n << " " << k;
          sum += times;
        }
        EXPECT_LE(sum / std::size(kRows), 1.04) << arch << " " << n << " " << k;
      }
}

TEST(GemmRanges, TakeOnlyUsableTilings) {
  Target target = *Target::named("sm_90a");
  auto isSmall = [](const GemmChoice &choice) { return choice.threads <= 128; };
  for (const GemmRange &range :
       chooseGemmRanges({0, 768, 768, 1}, GemmPrecision::halfWidth, target, isSmall))
    EXPECT_LE(range.choice.threads, 128);
  EXPECT_TRUE(
      chooseGemmRanges({0, 768, 768, 1}, GemmPrecision::halfWidth, target, [](const GemmChoice &) {
        return false;
      }).empty());
}

} // namespace
} // namespace smelt::codegen
