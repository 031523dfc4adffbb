// What a shape's graph holds, what making it ready costs, and what it keeps.
#include "runtime/graph.h"

#include "tests/runtime/fake_model.h"

#include <limits>

namespace smelt::runtime {
namespace {

using test::AddScaleData;
using test::FakeModel;
using test::isOk;
using test::kernelOf;
using test::launchOf;

class GraphTest : public testing::Test {
protected:
  void open(const ContextOptions &options = {}) {
    model.file = test::planBytes(plan.contents);
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
  void bindDevice(AddScaleData &data) {
    auto onDevice = [](std::vector<float> &values) {
      Binding binding = test::hostBinding(values);
      binding.location = Location::kDevice;
      return binding;
    };
    ASSERT_TRUE(isOk(context->setInputShape("x", data.shape)));
    ASSERT_TRUE(isOk(context->setInputShape("y", data.shape)));
    ASSERT_TRUE(isOk(context->bindInput("x", onDevice(data.x))));
    ASSERT_TRUE(isOk(context->bindInput("y", onDevice(data.y))));
    ASSERT_TRUE(isOk(context->bindOutput("out", onDevice(data.out))));
  }
  /// Adds a step before the test plan's, without dependencies.
  plan::StepT &addFirstStep() {
    plan::ProgramT &program = plan.program(0);
    program.steps[1]->depends_on = {1};
    program.steps.insert(program.steps.begin(), std::make_unique<plan::StepT>(*program.steps[0]));
    std::swap(program.steps[1]->depends_on, program.steps[2]->depends_on);
    program.steps[1]->depends_on.clear();
    program.steps[2]->depends_on = {1};
    return *program.steps[0];
  }

  test::TestPlan plan;
  FakeModel model;
  std::unique_ptr<Context> context;
};

/// The shared memory of the test plan's two kernels where they have 96 blocks each, the first of almost all that a
/// multiprocessor has.
class SharedMemoryTest : public GraphTest {
protected:
  std::vector<uint32_t> launchedBytes() {
    uint32_t blocks = test::DimBuilder(plan.contents.metadata).constant(96);
    for (size_t step : {0, 1}) {
      kernelOf(plan.program(0), step).grid =
          plan::GridDims(blocks, kernelOf(plan.program(0), step).grid.y(),
                         kernelOf(plan.program(0), step).grid.z());
      kernelOf(plan.program(0), step).shared_bytes = step == 0 ? 216288 : 67584;
    }
    open();
    AddScaleData data({3, 77});
    EXPECT_TRUE(isOk(FakeModel::bindHost(*context, data)));
    EXPECT_TRUE(isOk(context->run(nullptr)));
    std::vector<uint32_t> bytes;
    for (const FakeKernelCall &call : model.fake.kernelCalls())
      bytes.push_back(call.sharedBytes);
    return bytes;
  }
};

TEST_F(SharedMemoryTest, SpreadsTheBlocksOfKernelsThatStartEarly) {
  EXPECT_EQ(launchedBytes(), (std::vector<uint32_t>{216288, 115840}));
}

TEST_F(SharedMemoryTest, IsThePlansWhereKernelsWaitForTheEndOfOthers) {
  kernelOf(plan.program(0), 1).programmatic = false;
  EXPECT_EQ(launchedBytes(), (std::vector<uint32_t>{216288, 67584}));
}

TEST_F(GraphTest, UpdatesAGraphOfTheSameKernelsWhereTheCacheIsFull) {
  open({.cachedShapes = 1});
  for (Shape shape : {Shape{1, 1}, Shape{3, 77}, Shape{8, 512}, Shape{1, 1}}) {
    AddScaleData data(shape);
    runAndCheck(data);
  }
  EXPECT_EQ(model.fake.countOf("cuGraphInstantiateWithFlags"), 1u);
  EXPECT_EQ(model.fake.countOf("cuGraphAddNode"), 2u);
  EXPECT_EQ(model.fake.countOf("cuGraphExecKernelNodeSetParams"), 6u);
  EXPECT_EQ(model.fake.kernelCalls().back().grid, (std::array<unsigned, 3>{1, 1, 1}));
}

/// The template, which captures clone, must follow as well.
TEST_F(GraphTest, CapturesAnUpdatedGraph) {
  open({.cachedShapes = 1});
  AddScaleData first({1, 7}), second({3, 77});
  bindDevice(first);
  ASSERT_TRUE(isOk(context->run(nullptr)));
  bindDevice(second);
  ASSERT_TRUE(isOk(context->prepare()));
  CUstream stream = model.fake.stream();
  model.fake.beginCapture(stream);
  ASSERT_TRUE(isOk(context->enqueue(stream)));
  model.fake.launch(*model.fake.endCapture(stream));
  EXPECT_EQ(second.out, second.expected);
}

/// By seq, a step runs as one of two variants: the graphs hold one each, and are not exchanged.
TEST_F(GraphTest, HoldsTheVariantThatRuns) {
  plan::StepT &step = *plan.program(0).steps[0];
  step.variants.push_back(std::make_unique<plan::VariantT>(*step.variants[0]));
  for (size_t i = 0; i < 2; ++i) {
    step.variants[i]->rule = std::make_unique<plan::SizeRuleT>();
    step.variants[i]->rule->value = plan.contents.metadata.inputs[0]->dims[1];
  }
  step.variants[0]->rule->last = 10;
  step.variants[1]->rule->first = 11;
  kernelOf(plan.program(0), 0).block = plan::Extent3(32, 1, 1);
  open({.cachedShapes = 1});
  AddScaleData small({2, 10}), large({2, 11}), larger({2, 12});
  runAndCheck(small);
  EXPECT_EQ(model.fake.lastInstantiated()->nodes.size(), 2u);
  EXPECT_EQ(model.fake.kernelCalls()[0].block[0], 32u);
  runAndCheck(large);
  EXPECT_EQ(model.fake.lastInstantiated()->nodes.size(), 2u);
  EXPECT_EQ(model.fake.lastInstantiated()->nodes[1]->dependencies[0].data.type,
            CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
  EXPECT_EQ(model.fake.kernelCalls()[2].block[0], 256u);
  EXPECT_EQ(model.fake.countOf("cuGraphInstantiateWithFlags"), 2u);
  runAndCheck(larger);
  EXPECT_EQ(model.fake.countOf("cuGraphInstantiateWithFlags"), 2u);
}

TEST_F(GraphTest, KnownShapesAskTheDriverForNothing) {
  open();
  AddScaleData a({1, 7}), b({3, 77});
  for (AddScaleData *data : {&a, &b, &a, &b})
    runAndCheck(*data);
  bindDevice(a);
  ASSERT_TRUE(isOk(context->prepare()));
  ASSERT_TRUE(isOk(context->setInputShape("x", b.shape)));
  ASSERT_TRUE(isOk(context->setInputShape("y", b.shape)));
  model.fake.clearCalls();
  ASSERT_TRUE(isOk(context->prepare()));
  EXPECT_EQ(model.fake.calls(),
            (std::vector<std::string>{"cuCtxGetCurrent", "cuCtxPushCurrent",
                                      "cuThreadExchangeStreamCaptureMode",
                                      "cuThreadExchangeStreamCaptureMode", "cuCtxPopCurrent"}));
}

/// A step that copies x to the arena and one that clears the output before the kernels run.
TEST_F(GraphTest, CopiesAndSetsMemory) {
  plan::ProgramT &program = plan.program(0);
  plan::StepT &step = addFirstStep();
  uint32_t bytes = program.buffers[4]->size_bytes;
  program.buffers.push_back(std::make_unique<plan::BufferT>(*program.buffers[4]));
  program.buffers.back()->index = 1;
  program.arena_slots = 2;
  plan::SetNodeT set;
  set.target = plan::Place(5, plan::kNone);
  set.value = 0xFF; // which reads as NaN
  set.size_bytes = bytes;
  step.variants[0]->launches[0]->node.Set(std::move(set));
  plan::CopyNodeT copy;
  copy.target = plan::Place(5, plan::kNone);
  copy.source = plan::Place(0, plan::kNone);
  copy.size_bytes = bytes;
  step.variants[0]->launches.push_back(std::make_unique<plan::LaunchT>());
  step.variants[0]->launches.back()->node.Set(std::move(copy));
  kernelOf(program, 1).arguments[0] = {plan::ArgumentKind::pointer, 5, plan::kNone};
  program.steps[1]->depends_on = {0};
  kernelOf(program, 1).programmatic = true;
  open({.cachedShapes = 1});
  AddScaleData first({3, 77}), second({2, 10}, 7);
  runAndCheck(first);
  runAndCheck(second);
  EXPECT_EQ(model.fake.countOf("cuGraphInstantiateWithFlags"), 1u);
  std::shared_ptr<const FakeGraph> graph = model.fake.lastInstantiated();
  ASSERT_EQ(graph->nodes.size(), 4u);
  EXPECT_EQ(graph->nodes[0]->type, CU_GRAPH_NODE_TYPE_MEMSET);
  EXPECT_EQ(graph->nodes[1]->type, CU_GRAPH_NODE_TYPE_MEMCPY);
  EXPECT_EQ(graph->nodes[1]->dependencies[0].from, 0u);
  EXPECT_EQ(graph->nodes[2]->dependencies[0].from, 1u);
  EXPECT_EQ(graph->nodes[2]->dependencies[0].data.type, CU_GRAPH_DEPENDENCY_TYPE_DEFAULT);
  EXPECT_EQ(graph->nodes[3]->dependencies[0].data.type, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
}

/// ramp(out, int n) fills memory that is kept for the shape; add then reads it in place of y.
class OnceTest : public GraphTest {
protected:
  void openOnce(const ContextOptions &options = {}) {
    plan::ProgramT &program = plan.program(0);
    auto buffer = std::make_unique<plan::BufferT>(*program.buffers[4]);
    buffer->kind = plan::BufferKind::shape;
    program.buffers.push_back(std::move(buffer));
    program.kernels.push_back(std::make_unique<plan::KernelT>());
    program.kernels.back()->entry = "ramp";
    program.once.push_back(std::make_unique<plan::StepT>(*program.steps[0]));
    plan::KernelNodeT &ramp = *program.once[0]->variants[0]->launches[0]->node.AsKernelNode();
    ramp.kernel = 2;
    ramp.arguments = {{plan::ArgumentKind::pointer, 5, plan::kNone}, ramp.arguments[3]};
    kernelOf(program, 0).arguments[1] = {plan::ArgumentKind::pointer, 5, plan::kNone};
    model.fake.addKernel("ramp", {{8, 4}, [this](const FakeKernelCall &call) {
                                    ++ramps;
                                    for (int i = 0; i < call.parameter<int>(1); ++i)
                                      call.parameter<float *>(0)[i] = static_cast<float>(i);
                                  }});
    open(options);
  }
  void check(Shape shape) {
    AddScaleData data(std::move(shape));
    for (size_t i = 0; i < data.x.size(); ++i)
      data.expected[i] = (data.x[i] + static_cast<float>(i)) * 3.0f;
    runAndCheck(data);
  }

  int ramps = 0;
};

TEST_F(OnceTest, ComputesWhatDependsOnTheShapeAloneOnceAShape) {
  openOnce();
  for (Shape shape : {Shape{3, 77}, Shape{3, 77}, Shape{1, 500}, Shape{3, 77}, Shape{1, 500}})
    check(shape);
  EXPECT_EQ(ramps, 2);
  EXPECT_EQ(model.fake.lastInstantiated()->nodes.size(), 2u);
}

TEST_F(OnceTest, ComputesItAgainInAnUpdatedGraph) {
  openOnce({.cachedShapes = 1});
  for (Shape shape : {Shape{3, 77}, Shape{1, 500}, Shape{64, 512}, Shape{3, 77}})
    check(shape);
  EXPECT_EQ(ramps, 4);
  EXPECT_EQ(model.fake.countOf("cuGraphInstantiateWithFlags"), 1u);
}

TEST_F(OnceTest, WaitsForARunThatReadsWhatItReplaces) {
  openOnce({.cachedShapes = 1});
  AddScaleData first({3, 77});
  ASSERT_TRUE(isOk(FakeModel::bindHost(*context, first)));
  ASSERT_TRUE(isOk(context->prepare()));
  ASSERT_TRUE(isOk(context->enqueue(nullptr)));
  model.fake.clearCalls();
  check({1, 100});
  std::vector<std::string> calls = model.fake.calls();
  auto waited = std::find(calls.begin(), calls.end(), "cuEventSynchronize");
  EXPECT_LT(waited, std::find(calls.begin(), calls.end(), "cuLaunchKernelEx"));
}

/// The fake writes down the address and the sizes that a tensor map was encoded for.
TEST_F(GraphTest, EncodesTensorMapsForEveryShapeAndAddress) {
  plan::KernelNodeT &kernel = kernelOf(plan.program(0), 0);
  test::DimBuilder dims(plan.contents.metadata);
  auto map = std::make_unique<plan::TensorMapT>();
  map->buffer = 0;
  map->sizes = {plan.contents.metadata.inputs[0]->dims[1],
                plan.contents.metadata.inputs[0]->dims[0]};
  map->byte_strides = {
      dims.apply(plan::DimOpcode::mul, map->sizes[0], dims.constant(sizeof(float)))};
  map->box = {16, 1};
  map->element_strides = {1, 1};
  kernel.tensor_maps.push_back(std::move(map));
  kernel.arguments.push_back({plan::ArgumentKind::tensor_map, 0, 0});
  std::vector<std::array<uint64_t, 16>> seen;
  model.fake.addKernel("add", {{8, 8, 8, 4, 128}, [&](const FakeKernelCall &call) {
                                 seen.push_back(call.parameter<std::array<uint64_t, 16>>(4));
                                 EXPECT_EQ(seen.back()[0], call.parameter<uint64_t>(0));
                               }});
  open({.cachedShapes = 1});
  AddScaleData first({3, 80}), moved({3, 80}, 5), second({2, 12});
  for (AddScaleData *data : {&first, &moved, &second}) {
    bindDevice(*data);
    ASSERT_TRUE(isOk(context->prepare()));
    ASSERT_TRUE(isOk(context->enqueue(nullptr)));
    EXPECT_EQ(seen.back()[0], reinterpret_cast<uint64_t>(data->x.data()));
    EXPECT_EQ(seen.back()[2], static_cast<uint64_t>(data->shape[1]));
    EXPECT_EQ(seen.back()[7], static_cast<uint64_t>(data->shape[1]) * 4);
  }
  EXPECT_EQ(model.fake.countOf("cuGraphInstantiateWithFlags"), 1u);
  ASSERT_TRUE(isOk(context->setInputShape("x", {2, 13})));
  ASSERT_TRUE(isOk(context->setInputShape("y", {2, 13})));
  EXPECT_TRUE(test::isRefused(context->prepare(), StatusCode::kUsage, "rows 52 bytes apart"));
}

/// Images [row, 2, 2, column]: every other pixel of windows of two, in one row of zeros. What the fake driver wrote
/// down is what the plan says; what the driver refuses comes back as an error.
TEST_F(GraphTest, EncodesWindowsOfImages) {
  plan::KernelNodeT &kernel = kernelOf(plan.program(0), 0);
  test::DimBuilder dims(plan.contents.metadata);
  auto map = std::make_unique<plan::TensorMapT>();
  uint32_t columns = plan.contents.metadata.inputs[0]->dims[1], two = dims.constant(2);
  uint32_t bytes = dims.apply(plan::DimOpcode::mul, columns, dims.constant(sizeof(float)));
  map->sizes = {columns, two, two, plan.contents.metadata.inputs[0]->dims[0]};
  map->byte_strides = {bytes, bytes, bytes};
  map->element_strides = {1, 2, 1, 1};
  map->windows = std::make_unique<plan::PixelWindowsT>();
  map->windows->channels = 16, map->windows->pixels = 128;
  map->windows->lower_corner = {-1, 0}, map->windows->upper_corner = {-1, 1};
  plan::PixelWindowsT &windows = *map->windows;
  kernel.tensor_maps.push_back(std::move(map));
  kernel.arguments.push_back({plan::ArgumentKind::tensor_map, 0, 0});
  std::array<uint64_t, 16> seen = {};
  model.fake.addKernel("add", {{8, 8, 8, 4, 128}, [&](const FakeKernelCall &call) {
                                 seen = call.parameter<std::array<uint64_t, 16>>(4);
                               }});
  open();
  AddScaleData data({3, 80});
  bindDevice(data);
  ASSERT_TRUE(isOk(context->prepare()));
  ASSERT_TRUE(isOk(context->enqueue(nullptr)));
  EXPECT_EQ(model.fake.countOf("cuTensorMapEncodeTiled"), 0u);
  EXPECT_EQ(seen[0], reinterpret_cast<uint64_t>(data.x.data()));
  EXPECT_EQ(seen[2], 80u);
  EXPECT_EQ(seen[5], 3u);
  EXPECT_EQ(seen[7], 320u);
  EXPECT_EQ(seen[11], 0x01010201u);
  EXPECT_EQ(seen[12], uint64_t(128) << 32 | 16);
  EXPECT_EQ(seen[13], 0x0000ffffu);
  EXPECT_EQ(seen[14], 0x0001ffffu);
  windows.upper_corner = {-3, 0}; // no pixel lies between the corners
  open();
  bindDevice(data);
  EXPECT_TRUE(test::isRefused(context->prepare(), StatusCode::kRunFailed,
                              "describing windows of images to a kernel"));
}

} // namespace
} // namespace smelt::runtime
