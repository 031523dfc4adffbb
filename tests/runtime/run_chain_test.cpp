// Runs in a chain: who waits for whom, what is computed, and what a run takes.
#include "runtime/run_chain.h"

#include "tests/runtime/fake_model.h"

namespace smelt::runtime {
namespace {

using test::AddScaleData;
using test::FakeModel;
using test::isOk;
using test::isRefused;

class RunChainTest : public testing::Test {
protected:
  void SetUp() override {
    Result<SharedEngine> made = model.createEngine();
    ASSERT_TRUE(isOk(made));
    for (AddScaleData *each : {&first, &second})
      contexts.push_back(contextOf(*made, *each));
  }
  void TearDown() override {
    chain.reset();
    contexts.clear();
    EXPECT_EQ(model.fake.leaks(), std::vector<std::string>());
  }
  /// The vectors are device memory: to the fake any host memory is.
  static std::unique_ptr<Context> contextOf(const SharedEngine &engine, AddScaleData &data) {
    auto onDevice = [](std::vector<float> &values) {
      Binding binding = test::hostBinding(values);
      binding.location = Location::kDevice;
      return binding;
    };
    Result<std::unique_ptr<Context>> context = Context::create(engine, {});
    EXPECT_TRUE(isOk(context));
    EXPECT_TRUE(isOk((*context)->setInputShape("x", data.shape)));
    EXPECT_TRUE(isOk((*context)->setInputShape("y", data.shape)));
    EXPECT_TRUE(isOk((*context)->bindInput("x", onDevice(data.x))));
    EXPECT_TRUE(isOk((*context)->bindInput("y", onDevice(data.y))));
    EXPECT_TRUE(isOk((*context)->bindOutput("out", onDevice(data.out))));
    EXPECT_TRUE(isOk((*context)->prepare()));
    return std::move(*context);
  }
  void create(const std::vector<Context *> &runs) {
    Result<std::unique_ptr<RunChain>> made = RunChain::create(runs);
    ASSERT_TRUE(isOk(made));
    chain = std::move(*made);
  }

  FakeModel model;
  AddScaleData first{{3, 77}, 1}, second{{1, 5}, 2};
  std::vector<std::unique_ptr<Context>> contexts;
  std::unique_ptr<RunChain> chain;
};

TEST_F(RunChainTest, IsALineOfLaunchesThatOverlapAsInAModel) {
  create({contexts[0].get(), contexts[1].get()});
  std::shared_ptr<const FakeGraph> graph = model.fake.lastInstantiated();
  ASSERT_EQ(graph->nodes.size(), 4u);
  EXPECT_EQ(graph->nodes[0]->dependencies.size(), 0u);
  for (size_t i = 1; i < 4; ++i) {
    ASSERT_EQ(graph->nodes[i]->dependencies.size(), 1u) << i;
    EXPECT_EQ(graph->nodes[i]->dependencies[0].from, i - 1);
    // Of the plan's two kernels the first waits for the end of what is before it.
    EXPECT_EQ(graph->nodes[i]->dependencies[0].data.type,
              i % 2 == 1 ? CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC : CU_GRAPH_DEPENDENCY_TYPE_DEFAULT)
        << i;
  }
}

TEST_F(RunChainTest, ComputesWhatTheContextsDo) {
  create({contexts[0].get(), contexts[1].get()});
  ASSERT_TRUE(isOk(chain->time(model.fake.stream())));
  EXPECT_EQ(first.out, first.expected);
  EXPECT_EQ(second.out, second.expected);
}

TEST_F(RunChainTest, TellsTheMeanOfARun) {
  model.fake.setKernelTimes(
      [](const FakeKernelCall &call) { return call.entry == "add" ? 1e6 : 3e6; });
  for (size_t runs : {1u, 3u}) {
    create(std::vector<Context *>(runs, contexts[0].get()));
    Result<double> time = chain->time(model.fake.stream());
    ASSERT_TRUE(isOk(time));
    EXPECT_NEAR(*time, 4e6, 5e5) << runs;
  }
}

TEST_F(RunChainTest, LeavesTheContextsAsTheyWere) {
  create({contexts[0].get(), contexts[0].get(), contexts[1].get()});
  chain.reset();
  for (auto &context : contexts)
    ASSERT_TRUE(isOk(context->run(nullptr)));
  EXPECT_EQ(first.out, first.expected);
  EXPECT_EQ(second.out, second.expected);
}

TEST_F(RunChainTest, FailsWhereTheDriverDoes) {
  for (const char *call : {"cuGraphAddNode", "cuGraphInstantiateWithFlags"}) {
    model.fake.failCall(call, 0, CUDA_ERROR_OUT_OF_MEMORY);
    std::vector<Context *> runs = {contexts[0].get()};
    EXPECT_FALSE(isOk(RunChain::create(runs))) << call;
    EXPECT_TRUE(model.fake.hasFailed()) << call;
  }
}

} // namespace
} // namespace smelt::runtime
