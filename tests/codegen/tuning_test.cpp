// Times of tilings as a value and as text, and what they do to the choice.
#include "codegen/tuning.h"

#include "codegen/kernels/gemm/gemm_choice.h"
#include "codegen/target.h"

#include <gtest/gtest.h>

namespace smelt::codegen {
namespace {

const GemmShape kShape{512, 768, 768, 1, 0, true};

Target hopper() { return *Target::named("sm_90a"); }

std::vector<GemmChoice> ranked(llvm::ArrayRef<TilingTime> times) {
  return rankGemmTilings(kShape, GemmPrecision::halfWidth, hopper(), times);
}

TilingTime failure(int64_t rows, const std::string &tiling) {
  return {rows, tiling, 0, "signal 11"};
}

Tuning sample() {
  Tuning tuning("NVIDIA H200", "sm_90a");
  tuning.add("b", "gemm, 8 columns", {64, "wgmma 2", 4.25});
  tuning.add("a", "gemm+gelu", failure(128, "mma"));
  tuning.add("b", "gemm, 8 columns", {16, "wgmma 2", 3});
  tuning.add("b", "gemm, 8 columns", {16, "wgmma 1", 2.5});
  return tuning;
}

TEST(Tuning, IsTheSameTextWhateverTheOrderAndReadsItBack) {
  Tuning tuning = sample();
  Result<Tuning> read = Tuning::parse(tuning.text());
  ASSERT_TRUE(read.isOk()) << read.status().message();
  EXPECT_EQ(read->text(), tuning.text());
  EXPECT_EQ(read->device(), "NVIDIA H200");
  EXPECT_EQ(read->architecture(), "sm_90a");
  ASSERT_EQ(read->timesOf("b").size(), 3u);
  EXPECT_EQ(read->timesOf("b")[0].tiling, "wgmma 1");
  EXPECT_EQ(read->timesOf("b")[2].microseconds, 4.25);
  EXPECT_EQ(read->timesOf("a")[0].failure, "signal 11");
  EXPECT_TRUE(read->timesOf("c").empty());
  EXPECT_EQ(Tuning::deviceIn(tuning.text()), "NVIDIA H200");
  EXPECT_EQ(Tuning::deviceIn("no times"), "");
}

TEST(Tuning, ReplacesATimeAndTakesAPart) {
  Tuning tuning = sample();
  tuning.add("b", "gemm, 8 columns", {16, "wgmma 1", 9});
  ASSERT_EQ(tuning.timesOf("b").size(), 3u);
  EXPECT_EQ(tuning.timesOf("b")[0].microseconds, 9);
  tuning.add("b", "gemm, 8 columns", {16, "wgmma 1", 1.23456});
  EXPECT_EQ(tuning.timesOf("b")[0].microseconds, 1.235); // as the text has it
  Tuning part = tuning.only({"a", "c"});
  EXPECT_EQ(part.timesOf("a").size(), 1u);
  EXPECT_TRUE(part.timesOf("b").empty());
  EXPECT_FALSE(part.isEmpty());
  EXPECT_TRUE(tuning.only({"c"}).isEmpty());
}

TEST(Tuning, RefusesWhatIsDamagedAndOfOtherKernels) {
  std::string text = sample().text();
  auto refusalWith = [&](const std::string &from, const std::string &to) {
    std::string changed = text;
    size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    Result<Tuning> read = Tuning::parse(changed);
    EXPECT_FALSE(read.isOk()) << changed;
    EXPECT_EQ(read.status().code(), StatusCode::kPlan);
    return read.status().message();
  };
  for (auto [from, to] : {std::pair("4250", "-4250"),
                          {"4250", "\"fast\""},
                          {"\"rows\": 64", "\"rows\": 0"},
                          {"\"products\"", "\"product\""},
                          {"signal 11", ""},
                          {"smelt.tuning/1", "smelt.bench/1"},
                          {"{", "["}})
    EXPECT_NE(refusalWith(from, to).find("no times of tilings"), std::string::npos) << from;
  EXPECT_FALSE(Tuning::parse(std::string(10000000, '[')).isOk()); // and does not exhaust the stack
  EXPECT_NE(refusalWith("\"smelt_version\": \"", "\"smelt_version\": \"9").find("measure again"),
            std::string::npos);
  EXPECT_NE(refusalWith("\"kernels\": \"", "\"kernels\": \"0").find("another build of Smelt"),
            std::string::npos);
}

TEST(TunedChoice, TakesTheFastestThatWasMeasured) {
  std::vector<GemmChoice> model = ranked({});
  // Slower than the model says, each more than the one behind it: the order is turned around.
  std::vector<TilingTime> times;
  for (size_t i = 0; i < 4; ++i)
    times.push_back({kShape.m, model[i].name, 100.0 - static_cast<double>(i)});
  std::vector<GemmChoice> tuned = ranked(times);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(tuned[i].name, model[3 - i].name);
    EXPECT_NEAR(tuned[i].microseconds, 97.0 + static_cast<double>(i), 1e-6);
    EXPECT_TRUE(tuned[i].isMeasured);
  }
  EXPECT_FALSE(tuned[4].isMeasured);
  EXPECT_FALSE(model[0].isMeasured);
}

TEST(TunedChoice, AnUnknownTilingIsNoReasonToChange) {
  std::vector<GemmChoice> model = ranked({});
  std::vector<TilingTime> times{{kShape.m, "wgmma of another Smelt", 0.001}};
  EXPECT_EQ(ranked(times)[0].name, model[0].name);
  EXPECT_FALSE(ranked(times)[0].isMeasured);
}

TEST(TunedChoice, FailedTilingsAreTheLastAndWhereAllFailTheModelStands) {
  std::vector<GemmChoice> model = ranked({});
  std::vector<TilingTime> times{failure(64, model[0].name), {kShape.m, model[1].name, 50}};
  EXPECT_EQ(ranked(times).front().name, model[1].name);
  EXPECT_EQ(ranked(times).back().name, model[0].name);
  EXPECT_FALSE(ranked(times).back().isMeasured);
  times.pop_back();
  EXPECT_EQ(ranked(times).front().name, model[0].name);
}

TEST(TunedChoice, OpenRowsFollowTheNearestRowCountThatWasMeasured) {
  auto anything = [](const GemmChoice &) { return true; };
  auto ranges = [&](llvm::ArrayRef<TilingTime> times) {
    return chooseGemmRanges(kShape, GemmPrecision::halfWidth, hopper(), anything, times);
  };
  auto tilingAt = [](const std::vector<GemmRange> &all, int64_t rows) {
    auto found = llvm::find_if(
        all, [&](const GemmRange &range) { return !range.lastRow || rows <= *range.lastRow; });
    return found->choice.name;
  };
  std::vector<GemmRange> model = ranges({});
  std::string few = tilingAt(model, 16), many = tilingAt(model, 4096);
  ASSERT_NE(few, many);
  // With many rows the model is right, with few the tiling of few rows is ten times slower than another.
  GemmShape shape = kShape;
  shape.m = 16;
  std::vector<GemmChoice> atFew = rankGemmTilings(shape, GemmPrecision::halfWidth, hopper());
  shape.m = 4096;
  std::vector<GemmChoice> atMany = rankGemmTilings(shape, GemmPrecision::halfWidth, hopper());
  std::vector<TilingTime> times;
  std::string other;
  for (size_t i = 0; i < 6; ++i) {
    if (other.empty() && atFew[i].name != few)
      other = atFew[i].name;
    times.push_back({16, atFew[i].name, atFew[i].microseconds * (atFew[i].name == other ? 1 : 10)});
    times.push_back({4096, atMany[i].name, atMany[i].microseconds});
  }
  std::vector<GemmRange> tuned = ranges(times);
  EXPECT_EQ(tilingAt(tuned, 16), other);
  EXPECT_EQ(tilingAt(tuned, 4096), many);
}

TEST(TypicalRows, LieInTheirRange) {
  EXPECT_EQ(typicalRows(0, 64), 8);
  EXPECT_EQ(typicalRows(65, 260), 130);
  EXPECT_EQ(typicalRows(0, std::nullopt), 256);
  EXPECT_EQ(typicalRows(2049, std::nullopt), 4098);
}

} // namespace
} // namespace smelt::codegen
