#include "runtime/context.h"

#include "tests/runtime/diamond_plan.h"
#include "tests/runtime/fake_model.h"

#include <thread>

namespace smelt::runtime {
namespace {

using test::AddScaleData;
using test::FakeModel;
using test::hostBinding;
using test::isOk;
using test::isRefused;

class ContextTest : public testing::Test {
protected:
  void SetUp() override { open({}); }

  void open(const ContextOptions &options) {
    Result<SharedEngine> engine = model.createEngine();
    ASSERT_TRUE(isOk(engine));
    Result<std::unique_ptr<Context>> created = Context::create(*engine, options);
    ASSERT_TRUE(isOk(created));
    context = std::move(*created);
  }

  void TearDown() override {
    context.reset();
    EXPECT_EQ(model.fake.leaks(), std::vector<std::string>());
  }

  void runAndCheck(AddScaleData &data) {
    ASSERT_TRUE(isOk(FakeModel::bindHost(*context, data)));
    ASSERT_TRUE(isOk(context->run(nullptr)));
    EXPECT_EQ(data.out, data.expected);
  }

  /// Device memory of the caller: to the fake any host memory is.
  static Binding deviceBinding(std::vector<float> &values) {
    Binding binding = hostBinding(values);
    binding.location = Location::kDevice;
    return binding;
  }

  void bindDevice(AddScaleData &data) {
    ASSERT_TRUE(isOk(context->setInputShape("x", data.shape)));
    ASSERT_TRUE(isOk(context->setInputShape("y", data.shape)));
    ASSERT_TRUE(isOk(context->bindInput("x", deviceBinding(data.x))));
    ASSERT_TRUE(isOk(context->bindInput("y", deviceBinding(data.y))));
    ASSERT_TRUE(isOk(context->bindOutput("out", deviceBinding(data.out))));
  }

  FakeModel model;
  std::unique_ptr<Context> context;
};

TEST_F(ContextTest, RunsSeveralShapesFromOnePlan) {
  for (Shape shape : {Shape{1, 128}, Shape{3, 77}, Shape{8, 512}, Shape{1, 1}}) {
    AddScaleData data(shape);
    runAndCheck(data);
  }
}

TEST_F(ContextTest, EnqueueIsOneGraphLaunchWithoutAllocationOrSynchronisation) {
  AddScaleData data({3, 77});
  bindDevice(data);
  ASSERT_TRUE(isOk(context->prepare()));
  CUstream stream = model.fake.stream();
  for (int i = 0; i < 3; ++i) {
    model.fake.clearCalls();
    ASSERT_TRUE(isOk(context->enqueue(stream)));
    EXPECT_EQ(
        model.fake.calls(),
        (std::vector<std::string>{"cuCtxGetCurrent", "cuCtxPushCurrent", "cuStreamGetCaptureInfo",
                                  "cuGraphLaunch", "cuEventRecord", "cuCtxPopCurrent"}));
  }
  EXPECT_EQ(data.out, data.expected);
}

TEST_F(ContextTest, CopiesHostMemoryAroundTheOneGraphLaunch) {
  AddScaleData data({3, 77});
  ASSERT_TRUE(isOk(FakeModel::bindHost(*context, data)));
  ASSERT_TRUE(isOk(context->prepare()));
  model.fake.clearCalls();
  ASSERT_TRUE(isOk(context->enqueue(nullptr)));
  EXPECT_EQ(model.fake.calls(),
            (std::vector<std::string>{"cuCtxGetCurrent", "cuCtxPushCurrent", "cuMemcpyHtoDAsync",
                                      "cuMemcpyHtoDAsync", "cuGraphLaunch", "cuMemcpyDtoHAsync",
                                      "cuEventRecord", "cuCtxPopCurrent"}));
  EXPECT_EQ(data.out, data.expected);
}

TEST_F(ContextTest, InstantiatesOncePerShape) {
  AddScaleData first({1, 128}), second({3, 77});
  runAndCheck(first);
  EXPECT_EQ(model.fake.countOf("cuGraphInstantiateWithFlags"), 1u);
  runAndCheck(second);
  EXPECT_EQ(model.fake.countOf("cuGraphInstantiateWithFlags"), 2u);
  AddScaleData again({1, 128}, 5);
  runAndCheck(again);
  runAndCheck(second);
  EXPECT_EQ(model.fake.countOf("cuGraphInstantiateWithFlags"), 2u);
}

TEST_F(ContextTest, ForgetsTheShapeUsedLongestAgo) {
  context.reset();
  open({.cachedShapes = 2});
  AddScaleData a({1, 1}), b({1, 2}), c({1, 3});
  for (AddScaleData *data : {&a, &b, &a, &c})
    runAndCheck(*data);
  model.fake.clearCalls();
  runAndCheck(a);
  EXPECT_EQ(model.fake.countOf("cuGraphExecKernelNodeSetParams"), 0u);
  runAndCheck(b);
  EXPECT_EQ(model.fake.countOf("cuGraphExecKernelNodeSetParams"), 2u);
}

TEST_F(ContextTest, MovesBuffersInPlace) {
  AddScaleData first({3, 77}), second({3, 77}, 9);
  bindDevice(first);
  ASSERT_TRUE(isOk(context->run(nullptr)));
  model.fake.clearCalls();
  ASSERT_TRUE(isOk(context->bindOutput("out", deviceBinding(second.out))));
  ASSERT_TRUE(isOk(context->enqueue(nullptr)));
  EXPECT_EQ(second.out, first.expected);
  EXPECT_EQ(model.fake.countOf("cuGraphExecKernelNodeSetParams"), 1u); // only scale writes out
  EXPECT_EQ(model.fake.countOf("cuGraphInstantiateWithFlags"), 0u);
  bindDevice(second);
  ASSERT_TRUE(isOk(context->enqueue(nullptr)));
  EXPECT_EQ(second.out, second.expected);
  EXPECT_EQ(model.fake.countOf("cuGraphExecKernelNodeSetParams"), 2u);
}

TEST_F(ContextTest, SetsEveryNodeAfterAMoveFailedHalfway) {
  AddScaleData first({3, 77}), second({3, 77}, 9);
  bindDevice(first);
  ASSERT_TRUE(isOk(context->run(nullptr)));
  bindDevice(second);
  model.fake.failCall("cuGraphExecKernelNodeSetParams", 1, CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(context->enqueue(nullptr).code(), StatusCode::kRunFailed);
  bindDevice(first);
  std::fill(first.out.begin(), first.out.end(), 0.0f);
  ASSERT_TRUE(isOk(context->enqueue(nullptr)));
  EXPECT_EQ(first.out, first.expected);
}

TEST_F(ContextTest, OverlapsDependentKernels) {
  AddScaleData data({3, 77});
  runAndCheck(data);
  std::shared_ptr<const FakeGraph> graph = model.fake.lastInstantiated();
  ASSERT_EQ(graph->nodes.size(), 2u);
  EXPECT_EQ(graph->nodes[0]->dependencies.size(), 0u);
  ASSERT_EQ(graph->nodes[1]->dependencies.size(), 1u);
  EXPECT_EQ(graph->nodes[1]->dependencies[0].from, 0u);
  EXPECT_EQ(graph->nodes[1]->dependencies[0].data.type, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
  EXPECT_EQ(graph->nodes[1]->dependencies[0].data.from_port,
            CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC);
}

TEST(Context, UsesPlainEdgesBeforeSm90) {
  FakeModel model({.computeCapability = 80});
  Result<SharedEngine> engine = model.createEngine();
  ASSERT_TRUE(isOk(engine));
  Result<std::unique_ptr<Context>> context = Context::create(*engine, {});
  ASSERT_TRUE(isOk(context));
  AddScaleData data({3, 77});
  ASSERT_TRUE(isOk(FakeModel::bindHost(**context, data)));
  ASSERT_TRUE(isOk((*context)->run(nullptr)));
  EXPECT_EQ(data.out, data.expected);
  EXPECT_EQ(model.fake.lastInstantiated()->nodes[1]->dependencies[0].data.type,
            CU_GRAPH_DEPENDENCY_TYPE_DEFAULT);
}

/// Makes a context of the changed test plan.
Result<std::unique_ptr<Context>> contextAfter(void (*change)(test::TestPlan &), FakeModel &model) {
  test::TestPlan plan;
  change(plan);
  model.file = test::planBytes(plan.contents);
  SMELT_ASSIGN_OR_RETURN(SharedEngine engine, model.createEngine());
  return Context::create(engine, {});
}

TEST(Context, NeedsNoShapesWhereTheModelFixesThem) {
  FakeModel model;
  auto context = contextAfter(
      [](test::TestPlan &plan) {
        plan::MetadataT &metadata = plan.contents.metadata;
        metadata.dims[0]->program = {{plan::DimOpcode::constant, 3}};
        metadata.dims[1]->program = {{plan::DimOpcode::constant, 77}};
        for (auto &dim : metadata.dims)
          for (plan::DimInstruction &instruction : dim->program)
            if (instruction.opcode() == plan::DimOpcode::symbol)
              instruction = {plan::DimOpcode::constant, instruction.operand() == 0 ? 3 : 77};
        metadata.symbols.clear();
      },
      model);
  ASSERT_TRUE(isOk(context));
  AddScaleData data({3, 77});
  Result<Shape> shape = (*context)->outputShape("out");
  ASSERT_TRUE(isOk(shape));
  EXPECT_EQ(*shape, data.shape);
  ASSERT_TRUE(isOk((*context)->bindInput("x", hostBinding(data.x))));
  ASSERT_TRUE(isOk((*context)->bindInput("y", hostBinding(data.y))));
  ASSERT_TRUE(isOk((*context)->bindOutput("out", hostBinding(data.out))));
  ASSERT_TRUE(isOk((*context)->run(nullptr)));
  EXPECT_EQ(data.out, data.expected);
  ASSERT_TRUE(isOk((*context)->setInputShape("x", {3, 78})));
  EXPECT_TRUE(isRefused((*context)->run(nullptr), StatusCode::kUsage,
                        "input 'x' [3, 77] must have shape [3, 77], but was given [3, 78]"));
}

TEST(Context, AsksNoMemoryForInputsThatNoKernelReads) {
  FakeModel model;
  auto context = contextAfter(
      [](test::TestPlan &plan) {
        auto mask = std::make_unique<plan::TensorT>(*plan.contents.metadata.inputs[0]);
        mask->name = "mask";
        plan.contents.metadata.inputs.push_back(std::move(mask));
      },
      model);
  ASSERT_TRUE(isOk(context));
  AddScaleData data({3, 77});
  ASSERT_TRUE(isOk(FakeModel::bindHost(**context, data)));
  ASSERT_TRUE(isOk((*context)->setInputShape("mask", data.shape)));
  ASSERT_TRUE(isOk((*context)->run(nullptr)));
  EXPECT_EQ(data.out, data.expected);
}

TEST(Context, RunsWithKernelsThatAreOnlyDeclared) {
  FakeModel model;
  FakeDriver other;
  other.addKernels(model.plan.program(0));
  Result<Plan> read = readPlan(model.file, "m.plan");
  ASSERT_TRUE(isOk(read));
  Result<SharedEngine> engine = Engine::create(*read, other.driver(), {});
  ASSERT_TRUE(isOk(engine));
  Result<std::unique_ptr<Context>> context = Context::create(*engine, {});
  ASSERT_TRUE(isOk(context));
  AddScaleData data({3, 77});
  ASSERT_TRUE(isOk(FakeModel::bindHost(**context, data)));
  ASSERT_TRUE(isOk((*context)->run(nullptr)));
  EXPECT_EQ(other.countOf("cuGraphLaunch"), 1u);
  EXPECT_EQ(other.kernelCalls().size(), 2u);
}

TEST(Context, OverlapsADiamond) {
  FakeModel model;
  test::DiamondPlan plan;
  model.file = test::planBytes(plan.contents);
  Result<SharedEngine> engine = model.createEngine();
  ASSERT_TRUE(isOk(engine));
  Result<std::unique_ptr<Context>> context = Context::create(*engine, {});
  ASSERT_TRUE(isOk(context));
  AddScaleData data({3, 77});
  ASSERT_TRUE(isOk(FakeModel::bindHost(**context, data)));
  ASSERT_TRUE(isOk((*context)->run(nullptr)));
  EXPECT_EQ(data.out, data.expectedTwice());
  const auto &last = model.fake.lastInstantiated()->nodes[3]->dependencies;
  ASSERT_EQ(last.size(), 2u);
  EXPECT_EQ(last[0].data.type, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
  EXPECT_EQ(last[1].data.type, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
}

TEST(Context, PassesClustersToTheGraph) {
  FakeModel model;
  test::TestPlan plan;
  test::kernelOf(plan.program(0), 1).cluster = plan::Extent3(2, 1, 1);
  model.file = test::planBytes(plan.contents);
  Result<SharedEngine> engine = model.createEngine();
  ASSERT_TRUE(isOk(engine));
  Result<std::unique_ptr<Context>> context = Context::create(*engine, {});
  ASSERT_TRUE(isOk(context));
  AddScaleData data({1, 512});
  ASSERT_TRUE(isOk(FakeModel::bindHost(**context, data)));
  ASSERT_TRUE(isOk((*context)->run(nullptr)));
  EXPECT_EQ(model.fake.kernelCalls()[1].cluster, (std::array<unsigned, 3>{2, 1, 1}));
  EXPECT_EQ(model.fake.kernelCalls()[0].cluster, (std::array<unsigned, 3>{0, 0, 0}));
}

TEST(Context, LeavesOutLaunchesWithoutWork) {
  FakeModel model;
  auto context = contextAfter(
      [](test::TestPlan &plan) {
        uint32_t none = test::DimBuilder(plan.contents.metadata).constant(0);
        plan::KernelNodeT &scale = test::kernelOf(plan.program(0), 1);
        scale.grid = plan::GridDims(none, scale.grid.y(), scale.grid.z());
      },
      model);
  ASSERT_TRUE(isOk(context));
  AddScaleData data({3, 77});
  ASSERT_TRUE(isOk(FakeModel::bindHost(**context, data)));
  ASSERT_TRUE(isOk((*context)->run(nullptr)));
  EXPECT_EQ(model.fake.lastInstantiated()->nodes.size(), 1u);
  EXPECT_EQ(model.fake.kernelCalls().size(), 1u);
}

TEST_F(ContextTest, JoinsTheCallersCapture) {
  AddScaleData data({3, 77}), moved({3, 77}, 4);
  bindDevice(data);
  ASSERT_TRUE(isOk(context->prepare()));
  CUstream stream = model.fake.stream();
  model.fake.beginCapture(stream);
  model.fake.clearCalls();
  ASSERT_TRUE(isOk(context->enqueue(stream)));
  bindDevice(moved);
  ASSERT_TRUE(isOk(context->enqueue(stream)));
  EXPECT_EQ(model.fake.countOf("cuGraphLaunch"), 0u);
  EXPECT_EQ(model.fake.countOf("cuGraphAddChildGraphNode"), 2u);
  std::shared_ptr<const FakeGraph> captured = model.fake.endCapture(stream);
  ASSERT_EQ(captured->nodes.size(), 2u);
  EXPECT_EQ(captured->nodes[1]->dependencies.size(), 1u);
  EXPECT_TRUE(model.fake.kernelCalls().empty());
  model.fake.launch(*captured);
  EXPECT_EQ(data.out, data.expected);
  EXPECT_EQ(moved.out, moved.expected);
}

/// Waiting for what a capture has only recorded would invalidate it.
TEST_F(ContextTest, RefusesToWaitForACapturedRun) {
  AddScaleData data({3, 77});
  bindDevice(data);
  CUstream stream = model.fake.stream();
  model.fake.beginCapture(stream);
  EXPECT_TRUE(isRefused(context->run(stream), StatusCode::kUsage, "capturing stream"));
  std::shared_ptr<const FakeGraph> captured = model.fake.endCapture(stream);
  ASSERT_NE(captured, nullptr);
  EXPECT_TRUE(captured->nodes.empty());
  EXPECT_TRUE(isOk(context->run(stream)));
}

TEST_F(ContextTest, CapturesCopiesOfHostMemory) {
  AddScaleData data({3, 77});
  ASSERT_TRUE(isOk(FakeModel::bindHost(*context, data)));
  ASSERT_TRUE(isOk(context->prepare()));
  CUstream stream = model.fake.stream();
  model.fake.beginCapture(stream);
  ASSERT_TRUE(isOk(context->enqueue(stream)));
  std::shared_ptr<const FakeGraph> captured = model.fake.endCapture(stream);
  EXPECT_EQ(captured->nodes.size(), 4u);
  model.fake.launch(*captured);
  EXPECT_EQ(data.out, data.expected);
}

TEST_F(ContextTest, TellsOutputShapesBeforeAnythingIsBound) {
  ASSERT_TRUE(isOk(context->setInputShape("x", {3, 77})));
  EXPECT_TRUE(isRefused(context->outputShape("out").status(), StatusCode::kUsage,
                        "input 'y' has no shape yet"));
  ASSERT_TRUE(isOk(context->setInputShape("y", {3, 77})));
  Result<Shape> shape = context->outputShape("out");
  ASSERT_TRUE(isOk(shape));
  EXPECT_EQ(*shape, (Shape{3, 77}));
}

TEST_F(ContextTest, RunsInTheCallersWorkspace) {
  AddScaleData data({3, 77});
  bindDevice(data);
  Result<uint64_t> bytes = context->workspaceBytes();
  ASSERT_TRUE(isOk(bytes));
  EXPECT_EQ(*bytes, 1024u);
  alignas(256) std::byte room[1024 + 256];
  size_t before = model.fake.countOf("cuMemAlloc");
  ASSERT_TRUE(isOk(context->setWorkspace(room, *bytes)));
  ASSERT_TRUE(isOk(context->run(nullptr)));
  EXPECT_EQ(data.out, data.expected);
  EXPECT_EQ(model.fake.countOf("cuMemAlloc"), before);
  ASSERT_TRUE(isOk(context->setWorkspace(room, *bytes - 1)));
  EXPECT_TRUE(isRefused(context->prepare(), StatusCode::kUsage,
                        "the workspace has 1023 bytes, these shapes take 1024"));
  EXPECT_TRUE(
      isRefused(context->setWorkspace(room + 16, 1024), StatusCode::kUsage, "aligned to 256"));
}

TEST_F(ContextTest, KeepsItsWorkspaceWhileItSuffices) {
  AddScaleData small({1, 8}), large({8, 512});
  runAndCheck(large);
  size_t before = model.fake.countOf("cuMemAlloc");
  runAndCheck(small);
  runAndCheck(large);
  EXPECT_EQ(model.fake.countOf("cuMemAlloc"), before);
}

TEST_F(ContextTest, WaitsBeforeItReplacesAWorkspaceInUse) {
  AddScaleData small({1, 8}), large({8, 512});
  ASSERT_TRUE(isOk(FakeModel::bindHost(*context, small)));
  ASSERT_TRUE(isOk(context->prepare()));
  ASSERT_TRUE(isOk(context->enqueue(nullptr)));
  EXPECT_EQ(model.fake.countOf("cuEventSynchronize"), 0u);
  runAndCheck(large);
  EXPECT_EQ(model.fake.countOf("cuEventSynchronize"), 1u);
  runAndCheck(small); // its graph still names the old workspace
  EXPECT_EQ(model.fake.countOf("cuEventSynchronize"), 1u); // run() has waited already
}

TEST_F(ContextTest, WaitsForItsLastRunBeforeItGoes) {
  AddScaleData data({3, 77});
  ASSERT_TRUE(isOk(FakeModel::bindHost(*context, data)));
  ASSERT_TRUE(isOk(context->prepare()));
  ASSERT_TRUE(isOk(context->enqueue(nullptr)));
  model.fake.clearCalls();
  context.reset();
  std::vector<std::string> calls = model.fake.calls();
  auto waited = std::find(calls.begin(), calls.end(), "cuEventSynchronize");
  EXPECT_LT(waited, std::find(calls.begin(), calls.end(), "cuMemFree"));
  EXPECT_NE(waited, calls.end());
}

TEST_F(ContextTest, WaitsAlsoForWhatWasIssuedBeforeAFailure) {
  AddScaleData data({3, 77});
  ASSERT_TRUE(isOk(FakeModel::bindHost(*context, data)));
  ASSERT_TRUE(isOk(context->prepare()));
  model.fake.failCall("cuMemcpyDtoHAsync", 0, CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(context->enqueue(nullptr).code(), StatusCode::kRunFailed);
  context.reset();
  EXPECT_EQ(model.fake.countOf("cuEventRecord"), 1u);
  EXPECT_EQ(model.fake.countOf("cuEventSynchronize"), 1u);
}

/// A whole life while another thread's capture is under way.
TEST_F(ContextTest, LeavesCapturesOfOthersAlone) {
  CUstream others = model.fake.stream();
  model.fake.beginCapture(others);
  AddScaleData small({1, 8}), large({8, 512});
  ASSERT_TRUE(isOk(FakeModel::bindHost(*context, small)));
  ASSERT_TRUE(isOk(context->prepare()));
  ASSERT_TRUE(isOk(context->enqueue(nullptr)));
  runAndCheck(large);
  ASSERT_TRUE(isOk(context->enqueue(nullptr)));
  context.reset();
  EXPECT_NE(model.fake.endCapture(others), nullptr);
}

/// An event recorded in a capture cannot be waited for.
TEST_F(ContextTest, RecordsNoEventInTheCallersCapture) {
  AddScaleData data({3, 77});
  bindDevice(data);
  CUstream stream = model.fake.stream();
  ASSERT_TRUE(isOk(context->prepare()));
  ASSERT_TRUE(isOk(context->enqueue(stream)));
  model.fake.clearCalls();
  model.fake.beginCapture(stream);
  ASSERT_TRUE(isOk(context->enqueue(stream)));
  EXPECT_EQ(model.fake.countOf("cuEventRecord"), 0u);
  EXPECT_NE(model.fake.endCapture(stream), nullptr);
  model.fake.clearCalls();
  context.reset();
  EXPECT_EQ(model.fake.countOf("cuEventSynchronize"), 1u); // for the run before the capture
}

TEST_F(ContextTest, RefusesMisuse) {
  AddScaleData data({3, 77});
  CUstream stream = nullptr;
  auto usage = StatusCode::kUsage;
  EXPECT_TRUE(isRefused(context->enqueue(stream), usage, "call prepare before enqueue"));
  EXPECT_TRUE(isRefused(context->prepare(), usage, "input 'x' has no shape yet"));
  EXPECT_TRUE(isRefused(context->setInputShape("z", {1}), usage,
                        "the model has no input 'z'; its inputs are 'x', 'y'"));
  EXPECT_TRUE(isRefused(context->bindOutput("x", hostBinding(data.x)), usage,
                        "the model has no output 'x'; its outputs are 'out'"));
  EXPECT_TRUE(isRefused(context->outputShape("nothing").status(), usage, "no output 'nothing'"));
  ASSERT_TRUE(isOk(context->setInputShape("x", data.shape)));
  ASSERT_TRUE(isOk(context->setInputShape("y", data.shape)));
  ASSERT_TRUE(isOk(context->prepare()));
  EXPECT_TRUE(isRefused(context->enqueue(stream), usage, "input 'x' is not bound"));
  ASSERT_TRUE(isOk(FakeModel::bindHost(*context, data)));
  EXPECT_TRUE(isRefused(context->enqueue(stream), usage, "call prepare before enqueue"));
  std::vector<float> tooSmall(data.out.size() - 1);
  ASSERT_TRUE(isOk(context->bindOutput("out", hostBinding(tooSmall))));
  EXPECT_TRUE(isRefused(context->run(stream), usage,
                        "output 'out' of shape [3, 77] takes 924 bytes, the memory bound to it "
                        "has 920"));
  ASSERT_TRUE(isOk(context->setInputShape("y", {3, 78})));
  EXPECT_TRUE(isRefused(context->run(stream), usage, "input 'y' [batch, seq] must have shape"));
  ASSERT_TRUE(isOk(context->setInputShape("y", {3, 77})));
  runAndCheck(data);
}

TEST_F(ContextTest, RefusesUnfitBindings) {
  AddScaleData data({3, 77});
  Binding integers = hostBinding(data.x);
  integers.elementType = plan::ElementType::i64;
  EXPECT_TRUE(isRefused(context->bindInput("x", integers), StatusCode::kUsage,
                        "input 'x' has elements of type f32, not i64"));
  Binding null = hostBinding(data.x);
  null.data = nullptr;
  EXPECT_TRUE(isRefused(context->bindInput("x", null), StatusCode::kUsage, "null pointer"));
  Binding misaligned = deviceBinding(data.x);
  misaligned.data = data.x.data() + 1;
  EXPECT_TRUE(isRefused(context->bindInput("x", misaligned), StatusCode::kUsage,
                        "not aligned to 16 bytes"));
  EXPECT_TRUE(isRefused(Context::create(nullptr, {.cachedShapes = 0}).status(), StatusCode::kUsage,
                        "at least one shape"));
}

TEST_F(ContextTest, RefusesASecondThread) {
  AddScaleData data({3, 77});
  Status other;
  model.fake.addKernel("add", {{8, 8, 8, 4}, [&](const FakeKernelCall &) {
                                 std::thread([&] { other = context->prepare(); }).join();
                               }});
  ASSERT_TRUE(isOk(FakeModel::bindHost(*context, data)));
  ASSERT_TRUE(isOk(context->run(nullptr)));
  EXPECT_TRUE(isRefused(other, StatusCode::kUsage, "another thread is using this context"));
}

TEST_F(ContextTest, SharesAnEngineBetweenThreads) {
  Result<SharedEngine> engine = model.createEngine();
  ASSERT_TRUE(isOk(engine));
  std::atomic<int> right = 0;
  auto work = [&](uint32_t seed) {
    Result<std::unique_ptr<Context>> own = Context::create(*engine, {});
    for (int i = 0; i < 50; ++i) {
      AddScaleData data({1 + static_cast<int64_t>(seed), 1 + i % 5}, seed);
      if (own.isOk() && FakeModel::bindHost(**own, data).isOk() && (*own)->run(nullptr).isOk())
        right += data.out == data.expected;
    }
  };
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 8; ++i)
    threads.emplace_back(work, i);
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(right, 400);
}

} // namespace
} // namespace smelt::runtime
