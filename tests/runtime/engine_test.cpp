#include "runtime/engine.h"

#include "runtime/text.h"
#include "tests/runtime/fake_model.h"

#include <cstring>

namespace smelt::runtime {
namespace {

using test::FakeModel;
using test::isOk;
using test::isRefused;

TEST(Engine, UploadsUsedWeightsOnceAndLoadsModulesOnce) {
  FakeModel model;
  Result<SharedEngine> engine = model.createEngine();
  ASSERT_TRUE(isOk(engine));
  EXPECT_EQ(model.fake.countOf("cuModuleLoadDataEx"), 1u);
  EXPECT_EQ(model.fake.countOf("cuMemcpyHtoDAsync"), 1u);
  EXPECT_EQ(model.fake.countOf("cuStreamSynchronize"), 1u);
  float gain = 0;
  std::memcpy(&gain, reinterpret_cast<const void *>((*engine)->weightAddress(0)), sizeof(gain));
  EXPECT_EQ(gain, 3.0f);
  EXPECT_EQ((*engine)->weightAddress(1), 0u);
}

TEST(Engine, ReleasesEverything) {
  FakeModel model;
  ASSERT_TRUE(isOk(model.createEngine()));
  EXPECT_EQ(model.fake.leaks(), std::vector<std::string>());
}

TEST(Engine, LeavesCapturesOfOthersAlone) {
  FakeModel model;
  CUstream stream = model.fake.stream();
  model.fake.beginCapture(stream);
  ASSERT_TRUE(isOk(model.createEngine())); // and destroys it
  EXPECT_NE(model.fake.endCapture(stream), nullptr);
}

/// On a device with enough shared memory.
const plan::ProgramT *choose(const plan::MetadataT &metadata, int computeCapability) {
  return chooseProgram(metadata, computeCapability, 227 << 10);
}

TEST(Engine, ChoosesTheBestProgram) {
  test::TestPlan plan;
  const plan::MetadataT &metadata = plan.contents.metadata;
  EXPECT_EQ(choose(metadata, 90)->arch, "sm_90a");
  EXPECT_EQ(choose(metadata, 80)->arch, "sm_80");
  EXPECT_EQ(choose(metadata, 89)->arch, "sm_80");
  EXPECT_EQ(choose(metadata, 75), nullptr);
  EXPECT_EQ(choose(metadata, 100), nullptr);
}

TEST(Engine, ChoosesPtxWhereNoMachineCodeSuits) {
  test::TestPlan plan;
  plan.usePtx(1, test::ptxOfAddAndScale("sm_80"));
  const plan::MetadataT &metadata = plan.contents.metadata;
  EXPECT_EQ(choose(metadata, 90)->arch, "sm_90a");
  EXPECT_EQ(choose(metadata, 80)->arch, "compute_80");
  EXPECT_EQ(choose(metadata, 86)->arch, "compute_80");
  EXPECT_EQ(choose(metadata, 120)->arch, "compute_80");
  EXPECT_EQ(choose(metadata, 75), nullptr);
  plan.program(0).arch = "sm_100";
  EXPECT_EQ(choose(metadata, 103)->arch, "sm_100");
  EXPECT_EQ(choose(metadata, 110)->arch, "compute_80");
  plan.program(0).arch = "compute_90";
  EXPECT_EQ(choose(metadata, 120)->arch, "compute_90");
  EXPECT_EQ(choose(metadata, 89)->arch, "compute_80");
}

TEST(Engine, ChoosesAProgramThatTheSharedMemorySufficesFor) {
  test::TestPlan plan;
  plan.usePtx(0, test::ptxOfAddAndScale("sm_80"));
  test::kernelOf(plan.program(1), 1).shared_bytes = 163 << 10; // fits 8.0, but not 8.6
  const plan::MetadataT &metadata = plan.contents.metadata;
  EXPECT_EQ(chooseProgram(metadata, 80, 163 << 10)->arch, "sm_80");
  EXPECT_EQ(chooseProgram(metadata, 86, 99 << 10)->arch, "compute_80");
  test::kernelOf(plan.program(0), 0).shared_bytes = 100 << 10;
  EXPECT_EQ(chooseProgram(metadata, 86, 99 << 10)->arch, "sm_80"); // which says what it lacks
}

/// The status of an engine on a device of this capability of a plan for sm_90a and with this PTX.
Status statusOfPtx(int computeCapability, std::string ptx) {
  FakeModel model({.computeCapability = computeCapability});
  test::TestPlan plan;
  plan.usePtx(1, std::move(ptx));
  model.file = test::planBytes(plan.contents);
  return model.createEngine().status();
}

TEST(Engine, HasTheDriverTranslatePtxForLaterDevices) {
  EXPECT_TRUE(isOk(statusOfPtx(120, test::ptxOfAddAndScale("sm_80"))));
  EXPECT_TRUE(isOk(statusOfPtx(80, test::ptxOfAddAndScale("sm_80"))));
  EXPECT_TRUE(isRefused(statusOfPtx(75, test::ptxOfAddAndScale("sm_80")), StatusCode::kEnvironment,
                        "the plan holds code for sm_90a, compute_80, which does not run on Fake "
                        "GPU (sm_75); compile the model with --arch sm_75"));
}

TEST(Engine, SaysWhyTheDriverDoesNotTranslatePtx) {
  EXPECT_TRUE(isRefused(statusOfPtx(120, test::ptxOfAddAndScale("sm_121")),
                        StatusCode::kEnvironment,
                        "while translating the PTX of 'add_scale': CUDA_ERROR (fake failure): its "
                        "target is too new; update the driver, or compile the model with --arch "
                        "sm_120"));
}

TEST(Engine, CountsTheParametersOfPtx) {
  for (size_t count : {0, 3, 5})
    EXPECT_TRUE(isRefused(statusOfPtx(120, test::ptxOfAddAndScale("sm_80", count)),
                          StatusCode::kPlan,
                          joinText("the kernel add takes ", count, " arguments, not the 4")));
}

TEST(Engine, SaysWhichCodeThePlanLacks) {
  FakeModel model({.computeCapability = 100});
  EXPECT_TRUE(isRefused(model.createEngine().status(), StatusCode::kEnvironment,
                        "the plan holds code for sm_90a, sm_80, which does not run on Fake GPU "
                        "(sm_100); compile the model with --arch sm_100"));
}

TEST(Engine, RefusesADeviceThatIsNotThere) {
  FakeModel model;
  EXPECT_TRUE(isRefused(model.createEngine({.device = 3, .allocator = {}}).status(),
                        StatusCode::kEnvironment, "there is no CUDA device 3; the driver sees 1"));
}

TEST(Engine, RefusesKernelsThatTakeOtherParameters) {
  FakeModel model;
  model.fake.addKernel("add", {{8, 8, 8, 8}, {}});
  EXPECT_TRUE(isRefused(model.createEngine().status(), StatusCode::kPlan,
                        "the kernel add does not take argument 3 of 4 bytes"));
  model.fake.addKernel("add", {{8, 8, 8}, {}});
  EXPECT_TRUE(isRefused(model.createEngine().status(), StatusCode::kPlan,
                        "the kernel add does not take argument 3"));
}

TEST(Engine, RefusesKernelsThatTakeMoreThanThePlanGives) {
  for (size_t count : {3, 4, 5, 90}) {
    FakeModel model;
    test::TestPlan plan;
    std::string cubin = test::cubinWithParameters("add", count);
    plan.contents.codes[0] = std::as_bytes(std::span(cubin));
    model.file = test::planBytes(plan.contents);
    Status status = model.createEngine().status();
    if (count == 4)
      EXPECT_TRUE(isOk(status));
    else
      EXPECT_TRUE(isRefused(status, StatusCode::kPlan,
                            joinText("the kernel add takes ", count, " arguments, not the 4")));
  }
}

TEST(Engine, RefusesKernelsThatTakeMoreWhereTheCodeDoesNotSaySo) {
  FakeModel model; // whose code says nothing
  model.fake.addKernel("add", {{8, 8, 8, 4, 8}, {}});
  EXPECT_TRUE(isRefused(model.createEngine().status(), StatusCode::kPlan,
                        "the kernel add takes more than the 4 arguments"));
}

/// Tools that watch the driver report a question that it cannot answer as an error.
TEST(Engine, AsksTheDriverOnlyForParametersThatAreThere) {
  FakeModel model({.computeCapability = 86});
  test::TestPlan plan;
  plan.usePtx(1, test::ptxOfAddAndScale("sm_80"));
  model.file = test::planBytes(plan.contents);
  ASSERT_TRUE(isOk(model.createEngine()));
  EXPECT_EQ(model.fake.countOf("cuFuncGetParamInfo"), 8u);
}

TEST(Engine, RefusesCodeWithoutAKernelOfThePlan) {
  FakeModel model;
  test::TestPlan plan;
  plan.program(0).kernels[0]->entry = "missing";
  model.file = test::planBytes(plan.contents);
  EXPECT_TRUE(isRefused(model.createEngine().status(), StatusCode::kPlan,
                        "the code of 'add_scale' holds no kernel missing"));
}

/// An engine of the test plan changed by `change`, and the fake it runs on.
Status statusAfter(void (*change)(plan::KernelNodeT &), FakeModel &model) {
  test::TestPlan plan;
  change(test::kernelOf(plan.program(0), 0));
  model.file = test::planBytes(plan.contents);
  return model.createEngine().status();
}

TEST(Engine, OptsInToLargeSharedMemoryOnce) {
  FakeModel model;
  ASSERT_TRUE(isOk(statusAfter([](auto &kernel) { kernel.shared_bytes = 100 << 10; }, model)));
  EXPECT_EQ(model.fake.countOf("cuFuncSetAttribute"), 1u);
  FakeModel tooMuch;
  EXPECT_TRUE(isRefused(statusAfter([](auto &kernel) { kernel.shared_bytes = 300 << 10; }, tooMuch),
                        StatusCode::kEnvironment,
                        "the kernel add needs 307200 bytes of shared memory"));
}

TEST(Engine, AllowsClustersBeyondThePortableSize) {
  FakeModel model;
  ASSERT_TRUE(
      isOk(statusAfter([](auto &kernel) { kernel.cluster = plan::Extent3(16, 1, 1); }, model)));
  EXPECT_EQ(model.fake.countOf("cuFuncSetAttribute"), 1u);
}

TEST(Engine, SaysHowMuchMemoryIsMissing) {
  FakeModel model({.memoryBytes = 100});
  EXPECT_TRUE(isRefused(model.createEngine().status(), StatusCode::kResources,
                        "out of device memory: the model's weights take 1 MiB: 0 of 0 MiB are "
                        "free; free some, or use smaller shapes"));
  EXPECT_EQ(model.fake.leaks(), std::vector<std::string>());
}

TEST(Engine, TakesMemoryFromTheCallersAllocator) {
  FakeModel model;
  Driver driver = model.fake.driver();
  uint64_t held = 0;
  EngineOptions options;
  options.allocator.allocate = [&](uint64_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_EQ(driver->cuMemAlloc(&address, bytes), CUDA_SUCCESS);
    held += bytes;
    return address;
  };
  options.allocator.release = [&](CUdeviceptr address, uint64_t bytes) {
    EXPECT_EQ(driver->cuMemFree(address), CUDA_SUCCESS);
    held -= bytes;
  };
  {
    Result<SharedEngine> engine = model.createEngine(options);
    ASSERT_TRUE(isOk(engine));
    EXPECT_EQ(held, plan::kWeightBytes);
  }
  EXPECT_EQ(held, 0u);
}

TEST(Engine, ChecksTheCallersAllocator) {
  FakeModel model;
  EngineOptions options;
  int released = 0;
  options.allocator.release = [&](CUdeviceptr, uint64_t) { ++released; };
  options.allocator.allocate = [](uint64_t) -> CUdeviceptr { return 0; };
  EXPECT_TRUE(isRefused(model.createEngine(options).status(), StatusCode::kResources,
                        "out of device memory"));
  options.allocator.allocate = [](uint64_t) -> CUdeviceptr { return 16; };
  EXPECT_TRUE(isRefused(model.createEngine(options).status(), StatusCode::kUsage,
                        "not aligned to 256 bytes"));
  EXPECT_EQ(released, 1);
}

} // namespace
} // namespace smelt::runtime
