// Plans of one model for different shapes, such as one for a prompt and one for the tokens behind it: engines that share weights have
// them on the device once.
#include "compiler/build_plan.h"
#include "runtime/engine.h"
#include "runtime/fake_driver.h"
#include "runtime/read_plan.h"
#include "tests/compiler/folder_test.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <list>

using namespace smelt;
using namespace smelt::compiler;

namespace {

class SharedWeights : public FolderTest {
protected:
  runtime::Plan compile(int64_t batch) {
    ModelOptions options;
    options.path = SMELT_DEMO_MODEL;
    options.shapes["images"] = {batch, 1, 8, 8};
    Result<std::unique_ptr<Model>> model = Model::import(options);
    EXPECT_TRUE(model.isOk()) << model.status().message();
    EXPECT_TRUE((*model)->fuse({}).isOk());
    PlanOptions build;
    build.cacheDirectory = folder;
    codegen::ByteBuffer buffer;
    EXPECT_TRUE(buildPlan(**model, build, buffer).isOk());
    files.push_back(buffer.take());
    Result<runtime::Plan> plan = runtime::readPlan(files.back(), "demo");
    EXPECT_TRUE(plan.isOk()) << plan.status().message();
    fake.addKernels(*plan->metadata().programs[0]);
    return std::move(*plan);
  }

  runtime::SharedEngine open(const runtime::Plan &plan, const runtime::SharedEngine &sharer) {
    runtime::EngineOptions options;
    options.sharesWeightsWith = sharer;
    Result<runtime::SharedEngine> engine = runtime::Engine::create(plan, fake.driver(), options);
    EXPECT_TRUE(engine.isOk()) << engine.status().message();
    return *engine;
  }

  size_t uploads() const { return fake.countOf("cuMemcpyHtoDAsync"); }

  std::list<std::vector<std::byte>> files;
  runtime::FakeDriver fake;
};

TEST_F(SharedWeights, PlansForOtherShapesUploadNothing) {
  runtime::Plan one = compile(1), many = compile(64);
  ASSERT_NE(one.metadata().programs[0]->steps.size(), 0u);
  runtime::SharedEngine first = open(one, nullptr);
  size_t before = uploads();
  EXPECT_GT(before, 20u);
  runtime::SharedEngine second = open(many, first);
  EXPECT_EQ(uploads(), before);
  for (size_t i = 0; i < many.metadata().weights.size(); ++i)
    EXPECT_NE(second->weightAddress(i), 0u) << many.metadata().weights[i]->name;
}

} // namespace
