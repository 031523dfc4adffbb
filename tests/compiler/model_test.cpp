// compiler/model: progress, stopping, reproducers, and the sizes of a run.
#include "compiler/build_plan.h"
#include "compiler/model.h"
#include "compiler/run_model.h"

#include "tests/compiler/demo_model.h"
#include "tests/compiler/folder_test.h"
#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <numeric>

using namespace smelt;
using namespace smelt::compiler;

namespace {

class ModelTest : public FolderTest {};

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

TEST_F(ModelTest, AReproducerIsAtHandWhilePassesRun) {
  std::string path = folder + "/reproducer.mlir";
  std::function<std::string()> write;
  FuseOptions options;
  options.reproducer = path;
  options.onPasses = [&](std::function<std::string()> given) { write = std::move(given); };
  options.progress = [&](const Progress &progress) {
    if (progress.phase == "raise") // as after a crash there
      EXPECT_EQ(write(), path + " reproduces it");
    return true;
  };
  ASSERT_TRUE(demoModel()->fuse(options).isOk());
  EXPECT_FALSE(write);
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_NE(text.find("mlir_reproducer"), std::string::npos);
  EXPECT_NE(text.find("smelt.phase = \"import\""), std::string::npos) << text;
}

/// A pass fails behind which the module is none.
Status fuseBroken(const std::string &reproducer) {
  std::unique_ptr<Model> model = demoModel();
  FuseOptions options;
  options.reproducer = reproducer;
  options.progress = [&](const Progress &progress) {
    if (progress.phase == "raise")
      model->module().lookupSymbol("main")->removeAttr("function_type");
    return true;
  };
  return model->fuse(options);
}

TEST_F(ModelTest, APassThatFailsLeavesAReproducer) {
  std::string reproducer = folder + "/reproducer.mlir";
  Status status = fuseBroken(reproducer);
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_NE(status.message().find(reproducer + " reproduces it"), std::string::npos)
      << status.message();
  EXPECT_GT(std::filesystem::file_size(reproducer), 0u);
}

TEST_F(ModelTest, NoRoomForTheReproducerIsSaidToo) {
  Status status = fuseBroken(folder + "/missing/reproducer.mlir");
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_NE(status.message().find("defect of Smelt"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("cannot create"), std::string::npos) << status.message();
}

/// Import for one run.
class RunTest : public ModelTest {
protected:
  Result<std::unique_ptr<Model>> import(const test::ModelBuilder &model) {
    options.path = folder + "/model.onnx";
    std::ofstream(options.path, std::ios::binary) << model.bytes();
    return Model::import(options);
  }
  static std::string shapeOf(const Result<std::unique_ptr<Model>> &model) {
    if (!model.isOk())
      return model.status().message();
    std::string text;
    for (const Extent &extent : (*model)->signature().inputs[0].shape)
      text += extent.text + " ";
    return text;
  }
  /// For the input x, and for none other.
  void giveShape(const std::vector<int64_t> &shape) {
    options.shapeOf = [shape](const std::string &name, size_t number) {
      EXPECT_EQ(number, 0u);
      return name == "x" ? std::optional(shape) : std::nullopt;
    };
  }

  ModelOptions options;
};

/// Over steps of x, float [steps, batch, 4].
test::ModelBuilder recurrent() {
  test::ModelBuilder model(18);
  model.input("x", test::DataType::FLOAT, "steps batch 4");
  model.floats("w", {1, 3, 4}, std::vector<float>(12, 0.5f));
  model.floats("r", {1, 3, 3}, std::vector<float>(9, 0.5f));
  return model.node("RNN", {"x", "w", "r"}).attribute("hidden_size", 3).output("y");
}

/// Without axis 0 where that has one element.
test::ModelBuilder squeezed() {
  test::ModelBuilder model(18), squeeze, same;
  squeeze.integers("axes", {0}).node("Squeeze", {"x", "axes"}, {"out"}).output("out");
  same.node("Identity", {"x"}, {"out"}).output("out");
  model.input("x", test::DataType::FLOAT, "n 4 4").integer("one", 1).integer("axis", 0);
  model.node("Shape", {"x"}, {"shape"}).node("Gather", {"shape", "axis"}, {"size"});
  model.node("Equal", {"size", "one"}, {"c"}).node("If", {"c"});
  return model.attribute("then_branch", squeeze).attribute("else_branch", same).output("y");
}

/// A product with 16 KiB of weights.
test::ModelBuilder product() {
  test::ModelBuilder model(18);
  std::vector<float> weights(4096);
  std::iota(weights.begin(), weights.end(), 0.5f);
  model.input("x", test::DataType::FLOAT, "n 64").floats("w", {64, 64}, weights);
  return model.node("MatMul", {"x", "w"}).output("y");
}

TEST_F(RunTest, StopsBetweenOpsWhereAsked) {
  test::ModelBuilder chain(18);
  chain.input("x", test::DataType::FLOAT, "2");
  chain.node("Exp", {"x"}, {"a"}).node("Sqrt", {"a"}, {"b"}).node("Neg", {"b"}, {"y"}).output("y");
  Result<std::unique_ptr<Model>> model = import(chain);
  ASSERT_TRUE(model.isOk()) << model.status().message();
  ModelRunner runner(**model, CpuArithmetic::kFloat);
  float x[2] = {0, 0};
  TensorView view{plan::ElementType::f32, {2}, std::as_bytes(std::span(x))};
  std::vector<size_t> steps;
  auto stopsBehindTwo = [&](size_t done, size_t) {
    steps.push_back(done);
    return done < 2;
  };
  Result<std::vector<HostTensor>> stopped = runner.run({&view, 1}, stopsBehindTwo);
  EXPECT_EQ(stopped.status().code(), StatusCode::kResources);
  EXPECT_EQ(stopped.status().message(), "the run was stopped");
  EXPECT_EQ(steps, (std::vector<size_t>{1, 2}));
  EXPECT_TRUE(runner.run({&view, 1}).isOk()); // as if nothing had been
}

TEST_F(RunTest, WeightsThatAreReadAndWrittenAreCounted) {
  using Counts = std::vector<std::pair<uint64_t, uint64_t>>;
  Counts read, written;
  options.onRead = [&](uint64_t done, uint64_t total) { read.emplace_back(done, total); };
  auto model = import(product());
  ASSERT_TRUE(model.isOk()) << model.status().message();
  EXPECT_EQ(read, (Counts{{16384, 16384}}));
  ASSERT_TRUE((*model)->fuse({}).isOk());
  PlanOptions build;
  build.cacheDirectory = folder;
  build.progress = [&](const Progress &progress) {
    if (progress.phase == "weights")
      written.emplace_back(progress.done, progress.total);
    return true;
  };
  std::string path = folder + "/model.plan";
  Status built = buildPlan(**model, build, path);
  ASSERT_TRUE(built.isOk()) << built.message();
  EXPECT_EQ(written, (Counts{{16384, 16384}}));
  std::filesystem::remove(path);
  build.progress = [](const Progress &progress) { return progress.phase != "weights"; };
  built = buildPlan(**model, build, path);
  EXPECT_EQ(built.code(), StatusCode::kResources);
  EXPECT_NE(built.message().find("stopped before the plan was written"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(RunTest, AModelThatNeedsSizesGetsThoseOfTheRun) {
  EXPECT_NE(shapeOf(import(recurrent())).find("give it by --shape x=<steps>x?x4"),
            std::string::npos);
  options.runShapes = {{"x", {3, 2, 4}}};
  EXPECT_EQ(shapeOf(import(recurrent())), "3 2 4 ");
  options.runShapes = {{"x", {3, kAnyExtent, 4}}};
  EXPECT_EQ(shapeOf(import(recurrent())), "3 batch 4 ");
}

TEST_F(RunTest, OrThoseOfTheValues) {
  giveShape({4, 4, 4});
  EXPECT_EQ(shapeOf(import(recurrent())), "4 4 4 ");
}

TEST_F(RunTest, ABranchOnSizesIsThatOfTheRun) {
  EXPECT_EQ(shapeOf(import(squeezed())), "1 4 4 ");
  giveShape({4, 4, 4});
  EXPECT_EQ(shapeOf(import(squeezed())), "4 4 4 ");
}

TEST_F(RunTest, ShapesThatDoNotFitLeaveTheModelAsItIs) {
  giveShape({4, 4});
  EXPECT_EQ(shapeOf(import(squeezed())), "1 4 4 ");
  Status refused = import(recurrent()).status();
  EXPECT_EQ(refused.code(), StatusCode::kUsage);
  EXPECT_NE(refused.message().find("it has 3 dimensions"), std::string::npos) << refused.message();
}

TEST_F(RunTest, AModelThatTakesAnySizeKeepsThemOpen) {
  test::ModelBuilder model;
  model.input("x", test::DataType::FLOAT, "n 4 4").node("Relu", {"x"}).output("y");
  giveShape({4, 4, 4});
  EXPECT_EQ(shapeOf(import(model)), "n 4 4 ");
}

} // namespace
