#include "runtime/profile.h"

#include "tests/runtime/fake_model.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace smelt::runtime {
namespace {

using test::AddScaleData;
using test::FakeModel;
using test::isOk;
using test::isRefused;

class ProfileTest : public testing::Test {
protected:
  void SetUp() override {
    model.fake.addKernel("add", {{8, 8, 8, 4}, [](const FakeKernelCall &) {
                                   std::this_thread::sleep_for(std::chrono::milliseconds(2));
                                 }});
    Result<SharedEngine> made = model.createEngine();
    ASSERT_TRUE(isOk(made));
    engine = *made;
    Result<std::unique_ptr<Context>> created = Context::create(engine, {});
    ASSERT_TRUE(isOk(created));
    context = std::move(*created);
    ASSERT_TRUE(isOk(FakeModel::bindHost(*context, data)));
  }

  FakeModel model;
  SharedEngine engine;
  AddScaleData data{{3, 77}};
  std::unique_ptr<Context> context;
};

TEST_F(ProfileTest, TimesEachKernel) {
  ASSERT_TRUE(isOk(context->prepare()));
  Result<std::vector<double>> times = timeKernels(*context, model.fake.stream(), 5);
  ASSERT_TRUE(isOk(times));
  ASSERT_EQ(times->size(), 2u);
  EXPECT_GT((*times)[0], 1500.0);
  EXPECT_LT((*times)[1], (*times)[0]);
  EXPECT_EQ(model.fake.countOf("cuLaunchKernelEx"), 10u);
}

TEST_F(ProfileTest, TimesAreWhatTheFakeSaysOfItsKernels) {
  model.fake.setKernelTimes(
      [](const FakeKernelCall &call) { return call.entry == "add" ? 1e6 : 3e6; });
  ASSERT_TRUE(isOk(context->prepare()));
  Result<std::vector<double>> times = timeKernels(*context, model.fake.stream(), 3);
  ASSERT_TRUE(isOk(times));
  EXPECT_NEAR((*times)[0], 1e6, 5e5);
  EXPECT_NEAR((*times)[1], 3e6, 5e5);
}

TEST_F(ProfileTest, TimesGraphLaunchesInSamplesOfSeveral) {
  test::addKernels(model.fake); // a launch now takes far less than a sample
  ASSERT_TRUE(isOk(context->prepare()));
  TimingOptions options = {.warmupSeconds = 0, .seconds = 0, .sampleMilliseconds = 50};
  Result<std::vector<double>> samples = timeGraph(*context, model.fake.stream(), options);
  ASSERT_TRUE(isOk(samples));
  EXPECT_EQ(samples->size(), 5u);
  EXPECT_GT(median(*samples), 0.0);
  EXPECT_GT(model.fake.countOf("cuGraphLaunch"), 5u + 2 * samples->size());
}

TEST_F(ProfileTest, TimesGraphLaunchesOneByOne) {
  ASSERT_TRUE(isOk(context->prepare()));
  TimingOptions options = {.warmupSeconds = 0, .seconds = 0, .sampleMilliseconds = 0};
  Result<std::vector<double>> samples = timeGraph(*context, model.fake.stream(), options);
  ASSERT_TRUE(isOk(samples));
  EXPECT_EQ(samples->size(), 64u);
  EXPECT_GT(median(*samples), 1.5);
}

TEST_F(ProfileTest, TimesRunsWithTheirCopiesInTurn) {
  ASSERT_TRUE(isOk(context->prepare()));
  Result<std::unique_ptr<Context>> second = Context::create(engine, {});
  ASSERT_TRUE(isOk(second));
  AddScaleData others{{3, 77}};
  ASSERT_TRUE(isOk(FakeModel::bindHost(**second, others)));
  ASSERT_TRUE(isOk((*second)->prepare()));
  CUstream streams[] = {model.fake.stream(), model.fake.stream()};
  std::vector<CUstream> copied;
  auto copy = [&](CUstream stream) {
    copied.push_back(stream);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Status();
  };
  Result<RunTimes> times =
      timeRuns({{context.get(), streams[0], copy, {}}, {second->get(), streams[1], {}, copy}},
               {.warmupSeconds = 0, .seconds = 0, .leastRuns = 40});
  ASSERT_TRUE(isOk(times));
  ASSERT_EQ(times->runs.size(), 40u);
  EXPECT_GT(times->seconds, 0.1);
  EXPECT_EQ(copied.size(), 42u); // two runs of warm-up
  for (size_t i = 0; i < 40; ++i) {
    const RunTime &run = times->runs[i];
    EXPECT_EQ(copied[i + 2], streams[i % 2]);
    EXPECT_GT(run.computeMilliseconds, 1.5);
    EXPECT_GT(run.enqueueMicroseconds, 1500.0);
    EXPECT_GT(i % 2 ? run.outMilliseconds : run.inMilliseconds, 0.9);
    EXPECT_EQ(i % 2 ? run.inMilliseconds : run.outMilliseconds, 0.0);
  }
}

TEST_F(ProfileTest, TimesRunsForAWhile) {
  ASSERT_TRUE(isOk(context->prepare()));
  Result<RunTimes> times = timeRuns({{context.get(), model.fake.stream(), {}, {}}},
                                    {.warmupSeconds = 0, .seconds = 0.1, .leastRuns = 1});
  ASSERT_TRUE(isOk(times));
  EXPECT_GT(times->runs.size(), 8u); // more than are in flight
  EXPECT_GE(times->seconds, 0.1);
}

/// Who is told how far it is may take its time: nothing is under way, and no figure has that time in it.
TEST_F(ProfileTest, TellsHowFarItIsBetweenBatches) {
  using Clock = std::chrono::steady_clock;
  ASSERT_TRUE(isOk(context->prepare()));
  auto secondsSince = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  std::vector<double> warmUp, shares;
  double told = 0;
  auto listen = [&](const TimingProgress &progress) {
    Clock::time_point start = Clock::now();
    EXPECT_EQ(model.fake.countOf("cuGraphLaunch"), model.fake.countOf("cuEventSynchronize"));
    (progress.isWarmUp ? warmUp : shares).push_back(progress.share);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    told += secondsSince(start);
  };
  Clock::time_point start = Clock::now();
  Result<RunTimes> times =
      timeRuns({{context.get(), model.fake.stream(), {}, {}}}, {.warmupSeconds = 0.02,
                                                                .seconds = 0.05,
                                                                .leastRuns = 40,
                                                                .batchSeconds = 0.01,
                                                                .progress = listen});
  ASSERT_TRUE(isOk(times));
  EXPECT_LE(times->seconds + told, secondsSince(start));
  EXPECT_GE(times->seconds, 0.05);
  EXPECT_GE(times->runs.size(), 40u);
  for (const std::vector<double> &phase : {warmUp, shares}) {
    ASSERT_GE(phase.size(), 2u);
    EXPECT_TRUE(std::is_sorted(phase.begin(), phase.end()));
    EXPECT_LT(phase.front(), 1.0);
    EXPECT_EQ(phase.back(), 1.0);
  }
}

TEST_F(ProfileTest, TellsHowFarLaunchesAndKernelsAre) {
  ASSERT_TRUE(isOk(context->prepare()));
  std::vector<double> shares;
  bool isWarm = false;
  auto listen = [&](const TimingProgress &progress) {
    isWarm = isWarm || progress.isWarmUp;
    if (!progress.isWarmUp)
      shares.push_back(progress.share);
  };
  ASSERT_TRUE(isOk(
      timeGraph(*context, model.fake.stream(),
                {.warmupSeconds = 0, .seconds = 0, .sampleMilliseconds = 1, .progress = listen})));
  EXPECT_TRUE(isWarm);
  EXPECT_EQ(shares, (std::vector{0.2, 0.4, 0.6, 0.8, 1.0}));
  shares.clear();
  ASSERT_TRUE(isOk(timeKernels(*context, model.fake.stream(), 4, listen)));
  EXPECT_EQ(shares, (std::vector{0.25, 0.5, 0.75, 1.0}));
}

TEST_F(ProfileTest, NeedsAPreparedContext) {
  EXPECT_TRUE(isRefused(timeKernels(*context, nullptr, 1).status(), StatusCode::kUsage, "prepare"));
}

TEST_F(ProfileTest, EndsCleanlyWhenALaunchFails) {
  ASSERT_TRUE(isOk(context->prepare()));
  for (const char *function : {"cuLaunchHostFunc", "cuEventRecord", "cuLaunchKernelEx",
                               "cuEventSynchronize", "cuEventElapsedTime", "cuEventCreate"}) {
    model.fake.failCall(function, 1, CUDA_ERROR_UNKNOWN);
    EXPECT_EQ(timeKernels(*context, model.fake.stream(), 2).status().code(), StatusCode::kRunFailed)
        << function;
  }
}

TEST_F(ProfileTest, EndsCleanlyWhenATimedRunFails) {
  ASSERT_TRUE(isOk(context->prepare()));
  for (const char *function : {"cuGraphLaunch", "cuEventRecord", "cuEventSynchronize",
                               "cuEventElapsedTime", "cuEventCreate"}) {
    model.fake.failCall(function, 3, CUDA_ERROR_UNKNOWN);
    Result<RunTimes> times = timeRuns({{context.get(), model.fake.stream(), {}, {}}},
                                      {.warmupSeconds = 0, .seconds = 0});
    EXPECT_EQ(times.status().code(), StatusCode::kRunFailed) << function;
  }
}

TEST(Median, IsTheMiddleValue) {
  EXPECT_EQ(median({}), 0.0);
  EXPECT_EQ(median({3, 1, 2}), 2.0);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
}

} // namespace
} // namespace smelt::runtime
