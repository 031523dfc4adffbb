// Every driver call of a whole life fails once: the right code comes back, nothing leaks, and the
// next attempt succeeds.

#include "tests/runtime/fake_model.h"

namespace smelt::runtime {
namespace {

using test::AddScaleData;
using test::FakeModel;
using test::isOk;

/// Loads, runs two shapes twice, moves a buffer, captures, and destroys.
Status wholeLife(FakeModel &model) {
  SMELT_ASSIGN_OR_RETURN(SharedEngine engine, model.createEngine());
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<Context> context, Context::create(engine, {}));
  AddScaleData small({1, 8}), large({3, 77}, 2), moved({3, 77}, 3);
  for (AddScaleData *data : {&small, &large, &small, &moved}) {
    SMELT_RETURN_IF_ERROR(FakeModel::bindHost(*context, *data));
    SMELT_RETURN_IF_ERROR(context->run(nullptr));
    if (data->out != data->expected)
      return Status(StatusCode::kAccuracy, "wrong values");
  }
  CUstream stream = model.fake.stream();
  model.fake.beginCapture(stream);
  Status captured = context->enqueue(stream);
  model.fake.endCapture(stream);
  return captured;
}

class FailureTest : public testing::TestWithParam<std::pair<CUresult, StatusCode>> {};

TEST_P(FailureTest, OfEveryCallIsReportedAndLeaksNothing) {
  auto [result, code] = GetParam();
  FakeModel model;
  size_t calls = 0, reported = 0;
  for (;; ++calls) {
    model.fake.failCall("", calls, result);
    Status status = wholeLife(model);
    ASSERT_EQ(model.fake.leaks(), std::vector<std::string>()) << "after failure of call " << calls;
    if (!model.fake.hasFailed())
      break; // the life is over before the call that should fail
    if (!status.isOk()) {
      ASSERT_EQ(status.code(), code) << calls << ": " << status.message();
      ++reported;
    }
    ASSERT_LT(calls, 1000u);
  }
  EXPECT_GT(calls, 60u);
  // Releases, the capture mode and leaving the context have nobody to report to.
  EXPECT_GT(reported, calls / 2);
  model.fake.failNothing();
  EXPECT_TRUE(isOk(wholeLife(model)));
}

INSTANTIATE_TEST_SUITE_P(
    All, FailureTest,
    testing::Values(std::pair(CUDA_ERROR_OUT_OF_MEMORY, StatusCode::kResources),
                    std::pair(CUDA_ERROR_LAUNCH_FAILED, StatusCode::kRunFailed),
                    std::pair(CUDA_ERROR_NOT_SUPPORTED, StatusCode::kEnvironment)));

TEST(Failure, NamesTheCallAndWhatItWasFor) {
  FakeModel model;
  model.fake.failCall("cuModuleLoadDataEx", 0, CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_TRUE(test::isRefused(
      model.createEngine().status(), StatusCode::kEnvironment,
      "cuModuleLoadDataEx failed while loading the code of 'add_scale': CUDA_ERROR (fake "
      "failure)"));
}

TEST(Failure, SaysWhenTheDeviceIsLost) {
  FakeModel model;
  model.fake.failCall("cuStreamSynchronize", 0, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_TRUE(test::isRefused(wholeLife(model), StatusCode::kRunFailed,
                              "the device is lost to this process, which must be started again"));
}

} // namespace
} // namespace smelt::runtime
