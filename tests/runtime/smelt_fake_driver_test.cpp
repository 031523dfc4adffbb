// The installed fake driver as an application's tests use it: through its C API and that of the
// installed runtime, which opens it as libcuda.so.1.
#include "runtime/smelt_fake_driver.h"

#include "runtime/smelt.hpp"
#include "tests/runtime/diamond_plan.h"
#include "tests/runtime/expect_refused.h"
#include "tests/runtime/lent_tensor.h"

#include <cstring>
#include <fstream>
#include <gtest/gtest.h>

namespace smelt::test {
namespace {

constexpr int kOutOfMemory = 2, kLaunchFailed = 719; // of CUresult

class FakeDriverLibrary : public testing::Test {
protected:
  FakeDriverLibrary() {
    DiamondPlan written;
    written.usePtx(0, ptxOfAddAndScale("sm_80"));
    EXPECT_TRUE(codegen::writePlan(plan, written.contents).isOk());
  }
  void SetUp() override { ASSERT_EQ(smelt_fake_driver_reset(nullptr, nullptr), SMELT_OK); }

  /// What a run at 2x3 hands out.
  std::vector<float> run() {
    Engine engine(plan);
    Context context(engine);
    std::vector<float> x(6, 1.0f), y(6, 2.0f), out(6, 77.0f);
    context.setInputShape("x", {2, 3});
    context.setInputShape("y", {2, 3});
    context.bindInput("x", host(x.data(), x.size()));
    context.bindInput("y", host(y.data(), y.size()));
    context.bindOutput("out", host(out.data(), out.size()));
    context.run();
    return out;
  }

  smelt_code codeOfRun(std::string *message = nullptr) {
    try {
      run();
      return SMELT_OK;
    } catch (const Error &error) {
      if (message)
        *message = error.what();
      return error.code();
    }
  }

  void writeNpy(const std::string &header, const std::vector<float> &values) {
    std::ofstream file(folder.path("out.npy"), std::ios::binary);
    auto length = static_cast<uint16_t>(header.size());
    file << "\x93NUMPY" << '\1' << '\0';
    file.write(reinterpret_cast<const char *>(&length), 2);
    file << header;
    file.write(reinterpret_cast<const char *>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(float)));
  }

  TemporaryFolder folder;
  std::string plan = folder.path("model.plan");
  std::vector<float> recorded = {0.5f, 1, 2, 3, 4, -5};
};

TEST_F(FakeDriverLibrary, ComputesNothing) {
  float untouched;
  std::memset(&untouched, 0xA5, sizeof(untouched));
  EXPECT_EQ(run(), std::vector<float>(6, untouched));
}

TEST_F(FakeDriverLibrary, RunsOnTensorsByDlpack) {
  GivenTensor out;
  {
    Engine engine(plan);
    DeviceMemory first(engine, 24), second(engine, 24);
    LentTensor x(first.address(), {2, 3}), y(second.address(), {2, 3}), wrong(nullptr, {2, 3});
    {
      Context context(engine);
      context.bindInput("x", &x.managed);
      context.bindInput("y", &y.managed);
      EXPECT_THROW(context.bindInput("y", &wrong.managed), Error);
      EXPECT_EQ(wrong.released, 1);
      out.reset(context.allocateOutput("out"));
      EXPECT_EQ(context.outputShape("out"), Shape({2, 3}));
      context.run();
      LentTensor mine(out->dl_tensor.data, {2, 3});
      context.bindOutput("out", &mine.managed);
      context.bindOutput("out", device(static_cast<float *>(first.address()), 6));
      EXPECT_EQ(mine.released, 1);
      EXPECT_EQ(x.released + y.released, 0);
    }
    EXPECT_EQ(x.released + y.released, 2);
  }
  EXPECT_EQ(smelt_fake_driver_call_count("cuMemcpyDtoHAsync"), 0u);
  EXPECT_EQ(smelt_fake_driver_check_released(nullptr), SMELT_USAGE);
  out.reset();
  EXPECT_EQ(smelt_fake_driver_check_released(nullptr), SMELT_OK);
}

TEST_F(FakeDriverLibrary, ReplaysARecordedOutput) {
  ASSERT_EQ(smelt_fake_driver_replay(plan.c_str(), "out", recorded.data(), 24, nullptr), SMELT_OK);
  EXPECT_EQ(run(), recorded);
  EXPECT_EQ(run(), recorded);
  EXPECT_REFUSED(SMELT_USAGE, "has no output 'x'; it has out", smelt_fake_driver_replay,
                 plan.c_str(), "x", recorded.data(), 24);
  EXPECT_REFUSED(SMELT_USAGE, "cannot be read", smelt_fake_driver_replay, "no such plan", "out",
                 recorded.data(), 24);
  ASSERT_EQ(smelt_fake_driver_reset(nullptr, nullptr), SMELT_OK);
  EXPECT_NE(run(), recorded);
}

TEST_F(FakeDriverLibrary, RefusesARunOfAnotherSizeThanRecorded) {
  ASSERT_EQ(smelt_fake_driver_replay(plan.c_str(), "out", recorded.data(), 20, nullptr), SMELT_OK);
  std::string message;
  EXPECT_EQ(codeOfRun(&message), SMELT_RUN_FAILED);
  EXPECT_NE(message.find("the recorded output 'out' has 20 bytes, the run's 24"), message.npos)
      << message;
}

TEST_F(FakeDriverLibrary, ReplaysAFolder) {
  writeNpy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", recorded);
  ASSERT_EQ(smelt_fake_driver_replay_folder(plan.c_str(), folder.path("").c_str(), nullptr),
            SMELT_OK);
  EXPECT_EQ(run(), recorded);
}

TEST_F(FakeDriverLibrary, RefusesAFolderOfOtherArrays) {
  auto replay = [&] { return folder.path(""); };
  EXPECT_REFUSED(SMELT_USAGE, "out.npy", smelt_fake_driver_replay_folder, plan.c_str(),
                 replay().c_str());
  writeNpy("{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }\n", recorded);
  EXPECT_REFUSED(SMELT_USAGE, "its elements have 8 bytes, the output's have 4",
                 smelt_fake_driver_replay_folder, plan.c_str(), replay().c_str());
  writeNpy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n", recorded);
  EXPECT_REFUSED(SMELT_USAGE, "not row-major", smelt_fake_driver_replay_folder, plan.c_str(),
                 replay().c_str());
  std::ofstream(folder.path("out.npy")) << "no array at all";
  EXPECT_REFUSED(SMELT_USAGE, "no .npy file", smelt_fake_driver_replay_folder, plan.c_str(),
                 replay().c_str());
}

TEST_F(FakeDriverLibrary, FailsTheCallThatItIsToldTo) {
  ASSERT_EQ(smelt_fake_driver_fail_call("cuGraphLaunch", 2, kLaunchFailed, nullptr), SMELT_OK);
  EXPECT_EQ(codeOfRun(), SMELT_OK);
  EXPECT_EQ(smelt_fake_driver_has_failed(), 0);
  EXPECT_EQ(codeOfRun(), SMELT_RUN_FAILED);
  EXPECT_EQ(smelt_fake_driver_has_failed(), 1);
  EXPECT_EQ(smelt_fake_driver_call_count("cuGraphLaunch"), 2u);
  EXPECT_EQ(codeOfRun(), SMELT_OK);
  EXPECT_EQ(smelt_fake_driver_check_released(nullptr), SMELT_OK);
}

TEST_F(FakeDriverLibrary, RefusesFailuresThatCannotBe) {
  EXPECT_REFUSED(SMELT_USAGE, "no driver function 'cuMalloc'", smelt_fake_driver_fail_call,
                 "cuMalloc", 1, kOutOfMemory);
  EXPECT_REFUSED(SMELT_USAGE, "no driver function 'cuGetErrorName'", smelt_fake_driver_fail_call,
                 "cuGetErrorName", 1, kOutOfMemory);
  EXPECT_REFUSED(SMELT_USAGE, "counted from 1", smelt_fake_driver_fail_call, nullptr, 0,
                 kOutOfMemory);
  EXPECT_REFUSED(SMELT_USAGE, "counted from 1", smelt_fake_driver_fail_call, nullptr, 1, 0);
}

TEST_F(FakeDriverLibrary, IsTheDeviceOfItsOptions) {
  smelt_fake_driver_options options = SMELT_FAKE_DRIVER_OPTIONS_INIT;
  options.memory_bytes = 1024;
  ASSERT_EQ(smelt_fake_driver_reset(&options, nullptr), SMELT_OK);
  EXPECT_EQ(codeOfRun(), SMELT_RESOURCES);
  EXPECT_EQ(smelt_fake_driver_check_released(nullptr), SMELT_OK);
  options = SMELT_FAKE_DRIVER_OPTIONS_INIT;
  options.compute_capability = 75;
  ASSERT_EQ(smelt_fake_driver_reset(&options, nullptr), SMELT_OK);
  EXPECT_EQ(codeOfRun(), SMELT_ENVIRONMENT);
  options.compute_capability = 0;
  EXPECT_REFUSED(SMELT_USAGE, "compute capability", smelt_fake_driver_reset, &options);
}

TEST_F(FakeDriverLibrary, SaysWhatWasNotReleased) {
  Engine engine(plan);
  smelt_error error = SMELT_ERROR_INIT;
  EXPECT_EQ(smelt_fake_driver_check_released(&error), SMELT_USAGE);
  EXPECT_NE(std::strstr(error.message, "still holds memory of"), nullptr) << error.message;
  EXPECT_EQ(smelt_fake_driver_reset(nullptr, nullptr), SMELT_USAGE);
}

} // namespace
} // namespace smelt::test
