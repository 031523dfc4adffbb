#include "runtime/fake_process_driver.h"

#include "tests/runtime/fake_model.h"

namespace smelt::runtime {
namespace {

std::span<const std::byte> bytesOf(const std::string &text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// A plan with the outputs out and other, and what a run of it does to the driver.
class FakeProcessDriverTest : public testing::Test {
protected:
  void SetUp() override {
    test::TestPlan written;
    auto &outputs = written.contents.metadata.outputs;
    outputs.push_back(std::make_unique<plan::TensorT>(*outputs[0]));
    outputs[1]->name = "other";
    for (size_t i = 0; i < 2; ++i) { // the sum is an output too
      plan::ProgramT &program = written.program(i);
      plan::BufferT &sum = *program.buffers[4];
      sum.kind = plan::BufferKind::output;
      sum.index = 1;
      sum.size_bytes = plan::kNone;
      program.arena_slots = 0;
    }
    ASSERT_TRUE(test::isOk(codegen::writePlan(path, written.contents)));
    ASSERT_TRUE(test::isOk(use(path)));
    CUcontext context = nullptr;
    api->cuDevicePrimaryCtxRetain(&context, 0);
    api->cuCtxPushCurrent(context);
    CUgraph graph = nullptr;
    ASSERT_EQ(api->cuGraphCreate(&graph, 0), CUDA_SUCCESS);
    ASSERT_EQ(api->cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    ASSERT_EQ(api->cuMemAlloc(&memory, 64), CUDA_SUCCESS);
  }

  Status use(const std::string &plan) {
    return process.withRecordings([&](RecordedOutputs &outputs) { return outputs.usePlan(plan); });
  }
  Status record(const char *output, const std::string &text) {
    return process.withRecordings(
        [&](RecordedOutputs &outputs) { return outputs.record(output, bytesOf(text)); });
  }
  void launch() { ASSERT_EQ(api->cuGraphLaunch(exec, nullptr), CUDA_SUCCESS); }
  /// What the run hands out next.
  std::string copied(size_t bytes) {
    std::string text(bytes, '.');
    EXPECT_EQ(api->cuMemcpyDtoHAsync(text.data(), memory, bytes, nullptr), CUDA_SUCCESS);
    return text;
  }

  test::TemporaryFolder folder;
  std::string path = folder.path("model.plan");
  FakeProcessDriver process{FakeDevice()};
  Driver api = process.driver();
  CUgraphExec exec = nullptr;
  CUdeviceptr memory = 0;
};

TEST_F(FakeProcessDriverTest, HandsOutputsOutInThePlansOrder) {
  ASSERT_TRUE(test::isOk(record("other", "efgh")));
  ASSERT_TRUE(test::isOk(record("out", "abcd")));
  EXPECT_EQ(copied(4), "\xA5\xA5\xA5\xA5"); // nothing was launched
  for (int run = 0; run < 2; ++run) {
    launch();
    EXPECT_EQ(copied(4), "abcd");
    EXPECT_EQ(copied(4), "efgh");
    EXPECT_EQ(copied(4), "\xA5\xA5\xA5\xA5"); // a copy of the caller's
  }
}

TEST_F(FakeProcessDriverTest, LeavesWhatIsNotRecordedAlone) {
  ASSERT_TRUE(test::isOk(record("other", "efgh")));
  launch();
  EXPECT_EQ(copied(4), "\xA5\xA5\xA5\xA5");
  EXPECT_EQ(copied(4), "efgh");
}

TEST_F(FakeProcessDriverTest, PassesOutputsWithoutElementsOver) {
  ASSERT_TRUE(test::isOk(record("out", "")));
  ASSERT_TRUE(test::isOk(record("other", "efgh")));
  launch();
  EXPECT_EQ(copied(4), "efgh");
}

TEST_F(FakeProcessDriverTest, LaysRowsOutAsTheCopyDoes) {
  ASSERT_TRUE(test::isOk(record("out", "abcd")));
  launch();
  std::string text(6, '.');
  CUDA_MEMCPY2D rows = {};
  rows.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  rows.srcDevice = memory;
  rows.srcPitch = 3;
  rows.dstMemoryType = CU_MEMORYTYPE_HOST;
  rows.dstHost = text.data();
  rows.dstPitch = 3;
  rows.WidthInBytes = 2;
  rows.Height = 2;
  EXPECT_EQ(api->cuMemcpy2DAsync(&rows, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(text, "ab.cd.");
}

TEST_F(FakeProcessDriverTest, EveryThreadHasARunOfItsOwn) {
  ASSERT_TRUE(test::isOk(record("out", "abcd")));
  launch();
  std::thread([&] {
    CUcontext context = nullptr;
    api->cuDevicePrimaryCtxRetain(&context, 0);
    api->cuCtxPushCurrent(context);
    launch();
    EXPECT_EQ(copied(4), "abcd");
  }).join();
  EXPECT_EQ(copied(4), "abcd");
}

TEST_F(FakeProcessDriverTest, ForgetsTheRecordingsOfAnotherPlan) {
  ASSERT_TRUE(test::isOk(record("out", "abcd")));
  test::TestPlan other;
  ASSERT_TRUE(test::isOk(codegen::writePlan(folder.path("other.plan"), other.contents)));
  ASSERT_TRUE(test::isOk(use(folder.path("other.plan"))));
  launch();
  EXPECT_EQ(copied(4), "\xA5\xA5\xA5\xA5");
}

TEST_F(FakeProcessDriverTest, ExplainsOnlyTheRunThatFailed) {
  ASSERT_TRUE(test::isOk(record("out", "abc")));
  launch();
  std::string text(4, '.');
  EXPECT_EQ(api->cuMemcpyDtoHAsync(text.data(), memory, 4, nullptr), CUDA_ERROR_INVALID_VALUE);
  const char *why = nullptr;
  api->cuGetErrorString(CUDA_ERROR_INVALID_VALUE, &why);
  EXPECT_STREQ(why, "the recorded output 'out' has 3 bytes, the run's 4");
  launch();
  api->cuGetErrorString(CUDA_ERROR_INVALID_VALUE, &why);
  EXPECT_STREQ(why, "fake failure");
}

} // namespace
} // namespace smelt::runtime
