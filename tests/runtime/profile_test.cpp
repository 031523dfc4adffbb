#include "runtime/profile.h"

#include "tests/runtime/fake_model.h"

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
    Result<SharedEngine> engine = model.createEngine();
    ASSERT_TRUE(isOk(engine));
    Result<std::unique_ptr<Context>> created = Context::create(*engine, {});
    ASSERT_TRUE(isOk(created));
    context = std::move(*created);
    ASSERT_TRUE(isOk(FakeModel::bindHost(*context, data)));
  }

  FakeModel model;
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

TEST(Median, IsTheMiddleValue) {
  EXPECT_EQ(median({}), 0.0);
  EXPECT_EQ(median({3, 1, 2}), 2.0);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
}

} // namespace
} // namespace smelt::runtime
