// Plans that are given other weights: they become what the compiler makes of a model with these weights.
#include "compiler/build_plan.h"
#include "frontend/onnx.pb.h"
#include "runtime/fake_driver.h"
#include "runtime/read_plan.h"
#include "runtime/update_weight.h"
#include "runtime/weight_loops.h"
#include "tests/compiler/demo_model.h"
#include "tests/compiler/folder_test.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>

using namespace smelt;
using namespace smelt::compiler;

namespace {

struct Kind {
  bool refit;
  FloatPrecision precision;
};

using Bytes = std::vector<std::byte>;

class RefitTest : public FolderTest {
protected:
  /// The demo model with other values in the tensors of these names; fills in what they are.
  std::string changedModel(const std::set<std::string> &names) {
    onnx_wire::Model model;
    std::ifstream file(SMELT_DEMO_MODEL, std::ios::binary);
    EXPECT_TRUE(model.ParseFromString(std::string(std::istreambuf_iterator<char>(file), {})));
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (onnx_wire::Tensor &tensor : *model.mutable_graph()->mutable_initializer()) {
      if (!names.contains(tensor.name()))
        continue;
      std::vector<float> drawn(tensor.raw_data().size() / sizeof(float));
      for (float &value : drawn)
        value = normal(random);
      tensor.set_raw_data(
          std::string(reinterpret_cast<const char *>(drawn.data()), drawn.size() * sizeof(float)));
      values[tensor.name()] = std::move(drawn);
    }
    std::string path = folder + "/changed.onnx";
    std::ofstream(path, std::ios::binary) << model.SerializeAsString();
    return path;
  }

  Bytes compile(const std::string &path, const Kind &kind) {
    ModelOptions options;
    options.path = path;
    options.refit = kind.refit;
    Result<std::unique_ptr<Model>> model = Model::import(options);
    EXPECT_TRUE(model.isOk()) << model.status().message();
    FuseOptions fuse;
    fuse.narrowing.to = kind.precision;
    EXPECT_TRUE((*model)->fuse(fuse).isOk());
    PlanOptions build;
    build.cacheDirectory = folder; // the kernels are the same ones
    codegen::ByteBuffer buffer;
    Status built = buildPlan(**model, build, buffer);
    EXPECT_TRUE(built.isOk()) << built.message();
    return buffer.take();
  }

  /// Gives a plan of the demo model new values of all that it takes, and compares every weight.
  void check(const Kind &kind) {
    Bytes file = compile(SMELT_DEMO_MODEL, kind);
    Result<runtime::Plan> plan = runtime::readPlan(file, "demo");
    ASSERT_TRUE(plan.isOk()) << plan.status().message();
    std::set<std::string> updatable;
    for (const auto &initializer : plan->metadata().initializers) {
      refusals[initializer->name] = initializer->refusal;
      if (initializer->refusal.empty())
        updatable.insert(initializer->name);
      copied += initializer->refusal.empty() && runtime::isUpdatedByCopies(*initializer);
    }
    Bytes changedFile = compile(changedModel(updatable), kind);
    Result<runtime::Plan> changed = runtime::readPlan(changedFile, "changed");
    ASSERT_TRUE(changed.isOk()) << changed.status().message();
    runtime::FakeDriver fake;
    fake.addKernels(*plan->metadata().programs[0]);
    Result<runtime::SharedEngine> engine = runtime::Engine::create(*plan, fake.driver(), {});
    ASSERT_TRUE(engine.isOk()) << engine.status().message();
    for (auto &[name, drawn] : values) {
      runtime::Binding binding{plan::ElementType::f32, runtime::Location::kHost, drawn.data(),
                               drawn.size() * sizeof(float)};
      Status updated = runtime::updateWeight(**engine, name, binding, fake.stream());
      EXPECT_TRUE(updated.isOk()) << updated.message();
    }
    compare(**engine, *changed);
  }

  static void compare(const runtime::Engine &engine, const runtime::Plan &changed) {
    const auto &weights = changed.metadata().weights;
    ASSERT_EQ(engine.metadata().weights.size(), weights.size());
    for (size_t i = 0; i < weights.size(); ++i) {
      std::span<const std::byte> expected = changed.bytes(*weights[i]);
      ASSERT_NE(engine.weightAddress(i), 0u);
      EXPECT_EQ(std::memcmp(reinterpret_cast<const void *>(engine.weightAddress(i)),
                            expected.data(), expected.size()),
                0)
          << weights[i]->name;
    }
  }

  std::map<std::string, std::vector<float>> values;
  std::map<std::string, std::string> refusals;
  size_t copied = 0;
};

constexpr const char *kNorm = "layers.0.attention_norm.weight";

TEST_F(RefitTest, EveryFloatTensorOfAPlanThatIsMadeForIt) {
  check({true, FloatPrecision::fp32});
  EXPECT_EQ(values.size(), 72u);
  EXPECT_EQ(refusals[kNorm], "");
  EXPECT_EQ(refusals["class_token"], "");
  EXPECT_NE(refusals["val_60"], ""); // one number
  EXPECT_NE(refusals["val_295"].find("integers"), std::string::npos);
  EXPECT_GE(copied, values.size() - 5);
}

TEST_F(RefitTest, IsRoundedAsTheCompilerRounds) {
  check({true, FloatPrecision::fp16});
  EXPECT_EQ(values.size(), 72u);
}

/// Elsewhere, what can be updated is told from what cannot, and is right.
TEST_F(RefitTest, OfAnyPlanWhatWasNotComputed) {
  check({false, FloatPrecision::fp32});
  EXPECT_GT(values.size(), 0u);
  EXPECT_NE(refusals[kNorm].find("its values became constants when compiling"), std::string::npos);
  // A product's weights, of which a norm took its share.
  const std::string &refusal = refusals["val_76"];
  EXPECT_NE(refusal.find("of it and others was computed when compiling, for 'node_layer_norm"),
            std::string::npos)
      << refusal;
  EXPECT_NE(refusal.find("; compile with --refit"), std::string::npos);
  EXPECT_EQ(refusals["val_78"], "");
}

} // namespace
