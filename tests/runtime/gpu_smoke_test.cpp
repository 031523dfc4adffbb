// The runtime on a real driver: a plan of four small kernels in PTX, which the driver assembles.
// Skipped where there is no driver. The binary needs nothing but the C library and can be carried
// to a machine with a GPU.

#include "runtime/profile.h"
#include "runtime/text.h"
#include "runtime/update_weight.h"
#include "tests/runtime/diamond_plan.h"
#include "tests/runtime/fake_model.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>

namespace smelt::runtime {
namespace {

using test::AddScaleData;
using test::DiamondPlan;
using test::isOk;

/// A function of the driver that the runtime has no use for.
template <typename Function> Function driverFunction(const char *name) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  return reinterpret_cast<Function>(library ? dlsym(library, name) : nullptr);
}

/// The cubin that the driver makes of PTX for the current device.
std::string assemble(std::string &ptx) {
  auto create = driverFunction<PFN_cuLinkCreate_v6050>("cuLinkCreate_v2");
  auto add = driverFunction<PFN_cuLinkAddData_v6050>("cuLinkAddData_v2");
  auto complete = driverFunction<PFN_cuLinkComplete_v5050>("cuLinkComplete");
  auto destroy = driverFunction<PFN_cuLinkDestroy_v5050>("cuLinkDestroy");
  CUlinkState linker = nullptr;
  void *image = nullptr;
  size_t bytes = 0;
  EXPECT_EQ(create(0, nullptr, nullptr, &linker), CUDA_SUCCESS);
  EXPECT_EQ(
      add(linker, CU_JIT_INPUT_PTX, ptx.data(), ptx.size() + 1, "diamond.ptx", 0, nullptr, nullptr),
      CUDA_SUCCESS);
  EXPECT_EQ(complete(linker, &image, &bytes), CUDA_SUCCESS);
  std::string cubin(static_cast<const char *>(image), bytes);
  EXPECT_EQ(destroy(linker), CUDA_SUCCESS);
  return cubin;
}

class GpuSmokeTest : public testing::Test {
protected:
  void SetUp() override {
    Result<Driver> opened = openDriver();
    if (!opened.isOk())
      GTEST_SKIP() << opened.status().message();
    driver = *opened;
    DiamondPlan plan;
    load(plan);
  }

  void load(DiamondPlan &plan) {
    Result<SharedDevice> device = Device::open(driver, 0);
    ASSERT_TRUE(isOk(device));
    Result<CurrentContext> current = CurrentContext::enter(**device);
    ASSERT_TRUE(isOk(current));
    bool isHopper = (*device)->computeCapability() == 90; // another cannot assemble sm_90's program
    for (size_t i = isHopper ? 0 : 1; i < 2; ++i)
      plan.setCubin(i, assemble(plan.sources[i]));
    create(plan);
  }

  void create(DiamondPlan &plan, const EngineOptions &options = {}) {
    std::vector<std::byte> file = test::planBytes(plan.contents);
    Result<Plan> read = readPlan(file, "diamond.plan");
    ASSERT_TRUE(isOk(read));
    Result<SharedEngine> created = Engine::create(*read, driver, options);
    if (created.status().code() == StatusCode::kEnvironment)
      GTEST_SKIP() << created.status().message();
    ASSERT_TRUE(isOk(created));
    engine = *created;
    Result<std::unique_ptr<Context>> made = Context::create(engine, {});
    ASSERT_TRUE(isOk(made));
    context = std::move(*made);
  }

  void runFromHost(AddScaleData &data) {
    ASSERT_TRUE(isOk(test::FakeModel::bindHost(*context, data)));
    ASSERT_TRUE(isOk(context->run(nullptr)));
    EXPECT_EQ(data.out, data.expectedTwice()) << shapeText(data.shape);
  }

  Driver driver;
  SharedEngine engine;
  std::unique_ptr<Context> context;
};

TEST_F(GpuSmokeTest, RunsManyShapesFromHostMemory) {
  for (int round = 0; round < 3; ++round)
    for (Shape shape : {Shape{1, 128}, Shape{3, 77}, Shape{64, 512}, Shape{1, 1}}) {
      AddScaleData data(shape, static_cast<uint32_t>(round));
      runFromHost(data);
    }
}

TEST_F(GpuSmokeTest, RunsPtxThatTheDriverTranslates) {
  DiamondPlan plan;
  plan.program(0).arch = "sm_200"; // of no device
  plan.usePtx(1, plan.sources[1] + '\0');
  create(plan);
  AddScaleData data({3, 77});
  runFromHost(data);
}

/// A stream and device copies of a model's tensors.
class DeviceData {
public:
  DeviceData(const Engine &engine, const AddScaleData &data) : engine(engine), data(data) {
    uint64_t bytes = data.x.size() * sizeof(float);
    for (DeviceMemory *memory : {&x, &y, &out}) {
      auto allocated = DeviceMemory::allocate(engine.device(), {}, bytes, "test data");
      EXPECT_TRUE(isOk(allocated));
      *memory = std::move(*allocated);
    }
    for (auto [memory, values] : {std::pair(&x, &data.x), std::pair(&y, &data.y)})
      EXPECT_EQ(engine.api().cuMemcpyHtoDAsync(memory->address(), values->data(), bytes, nullptr),
                CUDA_SUCCESS);
    EXPECT_EQ(engine.api().cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  }

  Status bindTo(Context &context) const {
    SMELT_RETURN_IF_ERROR(context.setInputShape("x", data.shape));
    SMELT_RETURN_IF_ERROR(context.setInputShape("y", data.shape));
    SMELT_RETURN_IF_ERROR(context.bindInput("x", binding(x)));
    SMELT_RETURN_IF_ERROR(context.bindInput("y", binding(y)));
    return context.bindOutput("out", binding(out));
  }

  std::vector<float> readOut(CUstream stream) const {
    std::vector<float> values(data.x.size());
    EXPECT_EQ(engine.api().cuMemcpyDtoHAsync(values.data(), out.address(), out.bytes(), stream),
              CUDA_SUCCESS);
    EXPECT_EQ(engine.api().cuStreamSynchronize(stream), CUDA_SUCCESS);
    return values;
  }

private:
  static Binding binding(const DeviceMemory &memory) {
    return {plan::ElementType::f32, Location::kDevice, reinterpret_cast<void *>(memory.address()),
            memory.bytes()};
  }

  const Engine &engine;
  const AddScaleData &data;
  DeviceMemory x, y, out;
};

class GpuStreamTest : public GpuSmokeTest {
protected:
  void SetUp() override {
    GpuSmokeTest::SetUp();
    if (context == nullptr)
      return;
    Result<CurrentContext> entered = CurrentContext::enter(*engine->device());
    ASSERT_TRUE(isOk(entered));
    current.emplace(std::move(*entered));
    ASSERT_EQ(driver->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  }
  void TearDown() override {
    context.reset();
    if (stream != nullptr)
      driver->cuStreamDestroy(stream);
  }

  std::optional<CurrentContext> current;
  CUstream stream = nullptr;
};

TEST_F(GpuStreamTest, RunsOnTheCallersStreamAndFollowsMovedBuffers) {
  AddScaleData first({8, 512}, 1), second({8, 512}, 2);
  DeviceData firstOnDevice(*engine, first), secondOnDevice(*engine, second);
  ASSERT_TRUE(isOk(firstOnDevice.bindTo(*context)));
  ASSERT_TRUE(isOk(context->prepare()));
  for (int round = 0; round < 200; ++round) {
    ASSERT_TRUE(isOk(firstOnDevice.bindTo(*context)));
    ASSERT_TRUE(isOk(context->enqueue(stream)));
    ASSERT_TRUE(isOk(secondOnDevice.bindTo(*context)));
    ASSERT_TRUE(isOk(context->enqueue(stream)));
  }
  EXPECT_EQ(firstOnDevice.readOut(stream), first.expectedTwice());
  EXPECT_EQ(secondOnDevice.readOut(stream), second.expectedTwice());
}

TEST_F(GpuStreamTest, JoinsTheCallersCapture) {
  auto begin = driverFunction<PFN_cuStreamBeginCapture_v10010>("cuStreamBeginCapture_v2");
  auto end = driverFunction<PFN_cuStreamEndCapture_v10000>("cuStreamEndCapture");
  ASSERT_NE(begin, nullptr);
  ASSERT_NE(end, nullptr);
  AddScaleData first({3, 77}, 1), second({3, 77}, 2);
  DeviceData firstOnDevice(*engine, first), secondOnDevice(*engine, second);
  ASSERT_TRUE(isOk(firstOnDevice.bindTo(*context)));
  ASSERT_TRUE(isOk(context->prepare()));
  ASSERT_EQ(begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  ASSERT_TRUE(isOk(context->enqueue(stream)));
  ASSERT_TRUE(isOk(secondOnDevice.bindTo(*context)));
  ASSERT_TRUE(isOk(context->enqueue(stream)));
  CUgraph captured = nullptr;
  ASSERT_EQ(end(stream, &captured), CUDA_SUCCESS);
  CUgraphExec executable = nullptr;
  ASSERT_EQ(driver->cuGraphInstantiateWithFlags(&executable, captured, 0), CUDA_SUCCESS);
  ASSERT_EQ(driver->cuGraphLaunch(executable, stream), CUDA_SUCCESS);
  EXPECT_EQ(firstOnDevice.readOut(stream), first.expectedTwice());
  EXPECT_EQ(secondOnDevice.readOut(stream), second.expectedTwice());
  EXPECT_EQ(driver->cuGraphExecDestroy(executable), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuGraphDestroy(captured), CUDA_SUCCESS);
}

/// A whole life of an engine and a context while a stream is being captured, in the strictest mode.
TEST_F(GpuStreamTest, LeavesCapturesOfOthersAlone) {
  auto begin = driverFunction<PFN_cuStreamBeginCapture_v10010>("cuStreamBeginCapture_v2");
  auto end = driverFunction<PFN_cuStreamEndCapture_v10000>("cuStreamEndCapture");
  DiamondPlan plan;
  load(plan);
  SharedEngine first = engine;
  AddScaleData small({1, 8}, 1), large({64, 512}, 2);
  DeviceData smallOnDevice(*first, small), largeOnDevice(*first, large);
  CUstream captured = nullptr;
  ASSERT_EQ(driver->cuStreamCreate(&captured, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(begin(captured, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  create(plan);
  for (const DeviceData *data : {&smallOnDevice, &largeOnDevice}) {
    ASSERT_TRUE(isOk(data->bindTo(*context)));
    ASSERT_TRUE(isOk(context->run(stream)));
    ASSERT_TRUE(isOk(context->enqueue(stream)));
  }
  context.reset();
  engine = first; // the last engine of a device takes its context along, and the stream in that
  CUgraph graph = nullptr;
  EXPECT_EQ(end(captured, &graph), CUDA_SUCCESS);
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(driver->cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(driver->cuStreamDestroy(captured), CUDA_SUCCESS);
  EXPECT_EQ(smallOnDevice.readOut(stream), small.expectedTwice());
  EXPECT_EQ(largeOnDevice.readOut(stream), large.expectedTwice());
}

TEST_F(GpuStreamTest, LaunchesClustersAndLargeSharedMemory) {
  if (engine->device()->computeCapability() < 90)
    GTEST_SKIP() << "clusters need sm_90";
  DiamondPlan plan;
  for (size_t step = 0; step < plan.program(0).steps.size(); ++step) {
    plan::KernelNodeT &kernel = test::kernelOf(plan.program(0), step);
    kernel.cluster = plan::Extent3(2, 1, 1);
    kernel.shared_bytes = 100 << 10;
  }
  load(plan);
  AddScaleData data({2, 512});
  runFromHost(data);
}

TEST_F(GpuStreamTest, MayBeDestroyedWhileItRuns) {
  AddScaleData data({64, 512});
  DeviceData onDevice(*engine, data);
  ASSERT_TRUE(isOk(onDevice.bindTo(*context)));
  ASSERT_TRUE(isOk(context->prepare()));
  for (int i = 0; i < 50; ++i)
    ASSERT_TRUE(isOk(context->enqueue(stream)));
  context.reset();
  EXPECT_EQ(onDevice.readOut(stream), data.expectedTwice());
}

TEST_F(GpuStreamTest, SharesWeightsAndTheirUpdates) {
  DiamondPlan plan;
  load(plan);
  SharedEngine first = engine;
  EngineOptions options;
  options.sharesWeightsWith = first;
  plan.usePtx(1, plan.sources[1] + '\0'); // another plan of the same weights
  plan.program(0).arch = "sm_200";
  create(plan, options);
  EXPECT_EQ(engine->weightAddress(0), first->weightAddress(0));
  AddScaleData data({3, 77});
  DeviceData onDevice(*engine, data);
  ASSERT_TRUE(isOk(onDevice.bindTo(*context)));
  ASSERT_TRUE(isOk(context->prepare()));
  ASSERT_TRUE(isOk(context->enqueue(stream)));
  std::vector<float> before = onDevice.readOut(stream);
  std::vector<float> gain = {6};
  ASSERT_TRUE(isOk(updateWeight(*first, "gain", test::hostBinding(gain), stream)));
  ASSERT_TRUE(isOk(context->enqueue(stream)));
  std::vector<float> after = onDevice.readOut(stream);
  for (size_t i = 0; i < before.size(); ++i)
    EXPECT_EQ(after[i], 2 * before[i]);
}

TEST_F(GpuSmokeTest, RunsInTheApplicationsContext) {
  auto make = driverFunction<PFN_cuCtxCreate_v3020>("cuCtxCreate_v2");
  auto destroy = driverFunction<PFN_cuCtxDestroy_v4000>("cuCtxDestroy_v2");
  context.reset();
  engine.reset();
  CUcontext own = nullptr, popped = nullptr, now = nullptr;
  ASSERT_EQ(make(&own, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(driver->cuCtxPopCurrent(&popped), CUDA_SUCCESS);
  DiamondPlan plan;
  plan.program(0).arch = "sm_200"; // of no device
  plan.usePtx(1, plan.sources[1] + '\0');
  EngineOptions options;
  options.context = own;
  create(plan, options);
  ASSERT_NE(engine, nullptr);
  EXPECT_EQ(engine->device()->context(), own);
  AddScaleData data({3, 77});
  runFromHost(data);
  EXPECT_EQ(driver->cuCtxGetCurrent(&now), CUDA_SUCCESS);
  EXPECT_EQ(now, nullptr);
  context.reset();
  engine.reset();
  EXPECT_EQ(destroy(own), CUDA_SUCCESS);
}

/// Weights as large as those of BERT-base in 16 bits: Q, K and V in one matrix, three others a layer,
/// and the table of words.
class WeightsOfBert {
public:
  explicit WeightsOfBert(DiamondPlan &plan) : plan(plan) {
    for (int layer = 0; layer < 12; ++layer) {
      uint32_t merged = addWeight(768 * 2304);
      for (uint64_t part = 0; part < 3; ++part)
        addInitializer(merged, 768 * 768, {{768, 768, 2304}, {768, 1, 1}}, part * 768);
      for (uint64_t count : {768 * 768, 768 * 3072, 3072 * 768})
        addInitializer(addWeight(count), count, {{count, 1, 1}}, 0);
    }
    addInitializer(addWeight(30522 * 768), 30522 * 768, {{30522 * 768, 1, 1}}, 0);
  }

  const std::vector<std::pair<std::string, uint64_t>> &sizes() const { return bytes; }

private:
  uint32_t addWeight(uint64_t count) {
    auto index = static_cast<uint32_t>(plan.contents.metadata.weights.size());
    zeros.push_back(std::make_unique<std::vector<uint16_t>>(count));
    plan.contents.weights.push_back(
        codegen::WeightBytes::of(std::as_bytes(std::span(*zeros.back()))));
    plan.contents.metadata.weights.push_back(std::make_unique<plan::WeightT>());
    plan.contents.metadata.weights.back()->name = joinText("w", index);
    for (auto &program : plan.contents.metadata.programs) {
      program->buffers.push_back(std::make_unique<plan::BufferT>());
      program->buffers.back()->kind = plan::BufferKind::weight;
      program->buffers.back()->index = index;
    }
    return index;
  }

  void addInitializer(uint32_t weight, uint64_t count, std::vector<plan::CopyLoop> loops,
                      uint64_t offset) {
    auto initializer = std::make_unique<plan::InitializerT>();
    initializer->name = joinText("i", bytes.size());
    initializer->element_type = plan::ElementType::f16;
    initializer->shape = {count};
    initializer->parts.push_back(std::make_unique<plan::WeightPartT>());
    plan::WeightPartT &part = *initializer->parts[0];
    part.weight = weight;
    part.element_type = plan::ElementType::f16;
    part.target_offset = offset;
    part.loops = std::move(loops);
    bytes.emplace_back(initializer->name, count * 2);
    plan.contents.metadata.initializers.push_back(std::move(initializer));
  }

  DiamondPlan &plan;
  std::vector<std::unique_ptr<std::vector<uint16_t>>> zeros;
  std::vector<std::pair<std::string, uint64_t>> bytes; ///< of each initializer
};

/// The median of the seconds that `work` takes until the stream is done.
template <typename Work> double secondsOf(const DriverApi &api, CUstream stream, const Work &work) {
  std::vector<double> seconds;
  for (int i = 0; i < 21; ++i) {
    auto start = std::chrono::steady_clock::now();
    work();
    EXPECT_EQ(api.cuStreamSynchronize(stream), CUDA_SUCCESS);
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return median(seconds);
}

TEST_F(GpuStreamTest, UpdatesAllWeightsAsFastAsTheyAreCopied) {
  DiamondPlan plan;
  WeightsOfBert weights(plan);
  plan.program(0).arch = "sm_200"; // of no device
  plan.usePtx(1, plan.sources[1] + '\0');
  create(plan);
  uint64_t most = 0;
  for (const auto &[name, bytes] : weights.sizes())
    most = std::max(most, bytes);
  Result<PinnedMemory> pinned = PinnedMemory::allocate(engine->device(), most);
  Result<DeviceMemory> device = DeviceMemory::allocate(engine->device(), {}, most, "test data");
  ASSERT_TRUE(isOk(pinned) && isOk(device));
  std::memset(pinned->data(), 0, most);
  auto *onDevice = reinterpret_cast<void *>(device->address());
  const DriverApi &api = engine->api();
  for (auto [location, data] :
       {std::pair(Location::kHost, pinned->data()), std::pair(Location::kDevice, onDevice)}) {
    double copied = secondsOf(api, stream, [&] {
      for (size_t i = 0; i < weights.sizes().size(); ++i) {
        CUdeviceptr target =
            engine->weightAddress(engine->metadata().initializers[3 + i]->parts[0]->weight);
        uint64_t bytes = weights.sizes()[i].second;
        CUresult result = location == Location::kHost
                              ? api.cuMemcpyHtoDAsync(target, data, bytes, stream)
                              : api.cuMemcpyDtoDAsync(target, device->address(), bytes, stream);
        EXPECT_EQ(result, CUDA_SUCCESS);
      }
    });
    double updated = secondsOf(api, stream, [&] {
      for (const auto &[name, bytes] : weights.sizes())
        EXPECT_TRUE(isOk(updateWeight(*engine, name,
                                      {plan::ElementType::f16, location, data, bytes, 0}, stream)));
    });
    std::printf("%zu weights from the %s: copied in %.3f ms, updated in %.3f ms, %.2f times\n",
                weights.sizes().size(), location == Location::kHost ? "host" : "device",
                copied * 1e3, updated * 1e3, updated / copied);
    EXPECT_LE(updated, 1.2 * copied);
  }
}

TEST_F(GpuStreamTest, MeasuresItself) {
  AddScaleData data({64, 512});
  DeviceData onDevice(*engine, data);
  ASSERT_TRUE(isOk(onDevice.bindTo(*context)));
  ASSERT_TRUE(isOk(context->prepare()));
  Result<std::vector<double>> graph =
      timeGraph(*context, stream, {.warmupSeconds = 0.1, .seconds = 0.3, .sampleMilliseconds = 20});
  ASSERT_TRUE(isOk(graph));
  Result<std::vector<double>> kernels = timeKernels(*context, stream, 20);
  ASSERT_TRUE(isOk(kernels));
  std::printf("graph of 4 kernels on %s: %.2f us; kernels alone:", engine->device()->name().c_str(),
              median(*graph) * 1e3);
  for (double microseconds : *kernels) {
    std::printf(" %.2f us", microseconds);
    EXPECT_LT(microseconds, 1000.0);
  }
  std::printf("\n");
  EXPECT_GT(median(*graph), 1e-4);
  EXPECT_LT(median(*graph), 1.0);
  EXPECT_EQ(onDevice.readOut(stream), data.expectedTwice());
}

} // namespace
} // namespace smelt::runtime
