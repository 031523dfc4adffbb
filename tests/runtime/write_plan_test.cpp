#include "codegen/write_plan.h"

#include "runtime/read_plan.h"
#include "tests/runtime/test_plan.h"

#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace smelt {
namespace {

/// Lets no file grow beyond a size, as a full disk would.
class FileSizeLimit {
public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before);
    handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit limited = {bytes, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limited);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
  }

private:
  rlimit before;
  void (*handler)(int);
};

TEST(WritePlan, GivesTheSameBytesForTheSameContents) {
  test::TestPlan first, second;
  EXPECT_EQ(test::planBytes(first.contents), test::planBytes(second.contents));
}

TEST(WritePlan, TakesWeightsInPieces) {
  test::TestPlan whole, pieces;
  pieces.contents.weights[1].produce = [&](const codegen::ByteSink &sink) {
    auto bytes = std::as_bytes(std::span(pieces.table));
    for (size_t offset = 0; offset < bytes.size(); offset += 1000)
      SMELT_RETURN_IF_ERROR(
          sink(bytes.subspan(offset, std::min<size_t>(1000, bytes.size() - offset))));
    return Status();
  };
  EXPECT_EQ(test::planBytes(whole.contents), test::planBytes(pieces.contents));
}

TEST(WritePlan, WritesWeightsLargerThanItsBuffer) {
  test::TestPlan plan;
  plan.table.assign(3 << 20, 1.25f);
  plan.contents.weights[1] = codegen::WeightBytes::of(std::as_bytes(std::span(plan.table)));
  std::vector<std::byte> bytes = test::planBytes(plan.contents);
  EXPECT_TRUE(runtime::readPlan(bytes, "m.plan").isOk());
}

TEST(WritePlan, LeavesNothingBehindWhenTheDiskIsFull) {
  test::TestPlan plan;
  size_t fullSize = test::planBytes(plan.contents).size();
  for (size_t limit : {size_t(0), size_t(1), size_t(4096), fullSize / 2, fullSize - 1}) {
    test::TemporaryFolder folder;
    Status status;
    {
      FileSizeLimit full(limit);
      status = codegen::writePlan(folder.path("m.plan"), plan.contents);
    }
    EXPECT_EQ(status.code(), StatusCode::kResources) << limit;
    EXPECT_EQ(status.message(),
              folder.path("m.plan") + ": writing failed: File too large; nothing was left behind");
    EXPECT_TRUE(folder.names().empty()) << limit;
  }
}

TEST(WritePlan, KeepsTheOldPlanWhenTheDiskIsFull) {
  test::TestPlan plan;
  test::TemporaryFolder folder;
  std::ofstream(folder.path("m.plan")) << "old";
  {
    FileSizeLimit full(4096);
    EXPECT_FALSE(codegen::writePlan(folder.path("m.plan"), plan.contents).isOk());
  }
  EXPECT_EQ(test::readBytes(folder.path("m.plan")).size(), 3u);
  EXPECT_EQ(folder.names().size(), 1u);
}

TEST(WritePlan, SaysWhyAFileCannotBeCreated) {
  test::TestPlan plan;
  test::TemporaryFolder folder;
  Status status = codegen::writePlan(folder.path("missing/m.plan"), plan.contents);
  EXPECT_EQ(status.code(), StatusCode::kResources);
  EXPECT_EQ(status.message(),
            folder.path("missing/m.plan") +
                ": cannot create a file in its folder: No such file or directory");
}

TEST(WritePlan, RemovesItsFileWhenAFolderStandsInTheWay) {
  test::TestPlan plan;
  test::TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("m.plan"));
  EXPECT_EQ(codegen::writePlan(folder.path("m.plan"), plan.contents).code(),
            StatusCode::kResources);
  EXPECT_EQ(folder.names().size(), 1u);
}

TEST(WritePlan, PassesOnTheFailureOfAProducer) {
  test::TestPlan plan;
  plan.contents.weights[0].produce = [](const codegen::ByteSink &) {
    return Status(StatusCode::kInvalidModel, "the weight's file vanished");
  };
  test::TemporaryFolder folder;
  Status status = codegen::writePlan(folder.path("m.plan"), plan.contents);
  EXPECT_EQ(status.code(), StatusCode::kInvalidModel);
  EXPECT_TRUE(folder.names().empty());
}

TEST(WritePlan, RefusesContentsThatDoNotFitTogether) {
  using Contents = codegen::PlanContents;
  test::TemporaryFolder folder;
  void (*const changes[])(Contents &) = {
      [](Contents &contents) { contents.codes.pop_back(); },
      [](Contents &contents) { contents.sources.emplace_back("more"); },
      [](Contents &contents) { contents.fusions.pop_back(); },
      [](Contents &contents) { contents.weights.pop_back(); },
      [](Contents &contents) { contents.weights[0].size = 5; },
      [](Contents &contents) { contents.weights[0].size = UINT64_MAX; },
      [](Contents &contents) { test::kernelOf(*contents.metadata.programs[0], 0).kernel = 9; },
  };
  for (auto change : changes) {
    test::TestPlan plan;
    change(plan.contents);
    EXPECT_EQ(codegen::writePlan(folder.path("m.plan"), plan.contents).code(),
              StatusCode::kInternal);
  }
  EXPECT_TRUE(folder.names().empty());
}

} // namespace
} // namespace smelt
