// compiler/model: progress, stopping, and what becomes of a pass that crashes.
#include "compiler/model.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>

using namespace smelt;
using namespace smelt::compiler;

namespace {

std::unique_ptr<Model> demoModel() {
  ModelOptions options;
  options.path = SMELT_DEMO_MODEL;
  Result<std::unique_ptr<Model>> model = Model::import(options);
  EXPECT_TRUE(model.isOk()) << model.status().message();
  return model.isOk() ? std::move(*model) : nullptr;
}

class ModelTest : public testing::Test {
protected:
  void SetUp() override {
    folder = testing::TempDir() + "model_test";
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string folder;
};

TEST_F(ModelTest, ReportsEveryPhase) {
  std::vector<std::string> phases;
  FuseOptions options;
  options.progress = [&](const Progress &progress) {
    phases.emplace_back(progress.phase);
    return true;
  };
  ASSERT_TRUE(demoModel()->fuse(options).isOk());
  EXPECT_EQ(phases, (std::vector<std::string>{"import", "simplify", "raise", "fuse", "lower"}));
}

TEST_F(ModelTest, StopsWhereAsked) {
  FuseOptions options;
  options.progress = [](const Progress &progress) { return progress.phase != "raise"; };
  Status status = demoModel()->fuse(options);
  EXPECT_EQ(status.code(), StatusCode::kResources);
  EXPECT_NE(status.message().find("stopped after the phase raise"), std::string::npos);
}

/// Crashes in the pass manager's hands.
FuseOptions crashing(const std::string &reproducer) {
  FuseOptions options;
  options.reproducer = reproducer;
  options.progress = [](const Progress &progress) {
    if (progress.phase == "raise")
      raise(SIGSEGV);
    return true;
  };
  return options;
}

TEST_F(ModelTest, ACrashLeavesAReproducer) {
  std::string reproducer = folder + "/reproducer.mlir";
  Status status = demoModel()->fuse(crashing(reproducer));
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_NE(status.message().find(reproducer), std::string::npos) << status.message();
  EXPECT_GT(std::filesystem::file_size(reproducer), 0u);
}

TEST_F(ModelTest, NoRoomForTheReproducerIsSaidToo) {
  Status status = demoModel()->fuse(crashing(folder + "/missing/reproducer.mlir"));
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_NE(status.message().find("defect of Smelt"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("cannot create"), std::string::npos) << status.message();
}

} // namespace
