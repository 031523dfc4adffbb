// Engines of smelt.h on the CPU: what an application does with a GPU's engine it does with them.
#include "compiler/smelt_compiler.h"
#include "runtime/c_api.h"
#include "runtime/fake_driver.h"
#include "runtime/read_plan.h"
#include "tests/compiler/folder_test.h"
#include "tests/frontend/model_builder.h"
#include "tests/runtime/expect_refused.h"

#include <fstream>
#include <numeric>
#include <thread>

using smelt::runtime::FakeDriver;
using smelt::runtime::Plan;
using smelt::test::DataType;
using smelt::test::ModelBuilder;

namespace smelt::compiler {
namespace {

constexpr int64_t kWidth = 16;

/// w[k][j] of out[r][j] = sum of x[r][k] * w[k][j] + b[j]: small integers, which no precision rounds.
std::vector<float> makeWeight(int64_t shift) {
  std::vector<float> values(kWidth * kWidth);
  for (int64_t j = 0; j < kWidth; ++j)
    values[(j + shift) % kWidth * kWidth + j] = static_cast<float>(j + 1);
  return values;
}

std::vector<float> makeInput(int64_t batch) {
  std::vector<float> values(batch * kWidth);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i % 7) - 3;
  return values;
}

std::vector<float> expectedFor(const std::vector<float> &x, int64_t shift) {
  std::vector<float> out(x.size());
  for (size_t row = 0; row < x.size(); row += kWidth)
    for (int64_t j = 0; j < kWidth; ++j)
      out[row + j] = x[row + (j + shift) % kWidth] * static_cast<float>(j + 1) + 0.5f * j;
  return out;
}

smelt_binding bindingOf(std::vector<float> &values) {
  smelt_binding binding = SMELT_BINDING_INIT;
  binding.location = SMELT_HOST;
  binding.data = values.data();
  binding.bytes = values.size() * sizeof(float);
  return binding;
}

/// What an application sees of an engine.
std::string describe(const smelt_engine *engine) {
  std::string text = smelt_engine_model_name(engine);
  auto add = [&](size_t count, auto query) {
    for (size_t i = 0; i < count; ++i) {
      smelt_tensor_info info = SMELT_TENSOR_INFO_INIT;
      EXPECT_EQ(query(engine, i, &info, nullptr), SMELT_OK);
      text += joinText("; ", info.name, " ", smelt_element_type_name(info.element_type), " alias ",
                       info.alias);
      for (size_t axis = 0; axis < info.rank; ++axis)
        text += joinText(" ", info.extents[axis], " ", info.extent_texts[axis]);
    }
  };
  add(smelt_engine_input_count(engine), smelt_engine_input);
  add(smelt_engine_output_count(engine), smelt_engine_output);
  for (size_t i = 0; i < smelt_engine_weight_count(engine); ++i) {
    smelt_weight_info info = SMELT_WEIGHT_INFO_INIT;
    EXPECT_EQ(smelt_engine_weight(engine, i, &info, nullptr), SMELT_OK);
    text += joinText("; weight ", info.name, " of rank ", info.rank);
  }
  return text;
}

/// An application: runs a batch of any size, on whatever device its engine has.
std::vector<float> runBatch(smelt_context *context, std::vector<float> x) {
  smelt_int64 batch = static_cast<smelt_int64>(x.size()) / kWidth;
  const smelt_int64 shape[] = {batch, kWidth};
  EXPECT_EQ(smelt_context_set_input_shape(context, "x", shape, 2, nullptr), SMELT_OK);
  EXPECT_EQ(smelt_context_set_input_shape(context, "spare", shape, 1, nullptr), SMELT_OK);
  smelt_int64 extents[2] = {};
  size_t rank = 0, bytes = 0;
  EXPECT_EQ(smelt_context_output_shape(context, "out", extents, 2, &rank, nullptr), SMELT_OK);
  EXPECT_EQ(rank, 2u);
  std::vector<float> spare(batch), out(extents[0] * extents[1]);
  smelt_binding input = bindingOf(x), output = bindingOf(out), unread = bindingOf(spare);
  EXPECT_EQ(smelt_context_bind_input(context, "spare", &unread, nullptr), SMELT_OK);
  EXPECT_EQ(smelt_context_bind_input(context, "x", &input, nullptr), SMELT_OK);
  EXPECT_EQ(smelt_context_bind_output(context, "out", &output, nullptr), SMELT_OK);
  EXPECT_EQ(smelt_context_workspace_bytes(context, &bytes, nullptr), SMELT_OK);
  smelt_error error = SMELT_ERROR_INIT;
  EXPECT_EQ(smelt_context_prepare(context, &error), SMELT_OK) << error.message;
  EXPECT_EQ(smelt_context_enqueue(context, nullptr, &error), SMELT_OK) << error.message;
  EXPECT_EQ(smelt_context_wait(context, &error), SMELT_OK) << error.message;
  EXPECT_EQ(smelt_context_run(context, nullptr, &error), SMELT_OK) << error.message;
  return out;
}

class CpuEngineTest : public FolderTest {
protected:
  void SetUp() override {
    FolderTest::SetUp();
    std::vector<float> bias(kWidth);
    for (int64_t j = 0; j < kWidth; ++j)
      bias[j] = 0.5f * j;
    ModelBuilder model;
    model.input("x", DataType::FLOAT, "batch 16")
        .input("spare", DataType::FLOAT, "batch") // which nothing reads
        .floats("w", {kWidth, kWidth}, makeWeight(3))
        .floats("b", {kWidth}, bias)
        .node("MatMul", {"x", "w"}, {"h"})
        .node("Add", {"h", "b"}, {"out"})
        .output("out");
    std::ofstream(folder + "/linear.onnx", std::ios::binary) << model.bytes();
    open(SMELT_COMPILE_OPTIONS_INIT);
  }

  void TearDown() override {
    smelt_context_destroy(context);
    smelt_engine_destroy(cpu);
    smelt_engine_destroy(gpu);
    smelt_compile_destroy(compilation);
    EXPECT_EQ(fake.leaks(), std::vector<std::string>());
    FolderTest::TearDown();
  }

  /// The CPU's engine of a compilation with these options, for at most 128 rows, and a context.
  void open(smelt_compile_options options) {
    smelt_context_destroy(std::exchange(context, nullptr));
    smelt_engine_destroy(std::exchange(cpu, nullptr));
    smelt_compile_destroy(std::exchange(compilation, nullptr));
    options.cache_directory = folder.c_str();
    smelt_error error = SMELT_ERROR_INIT;
    ASSERT_EQ(
        smelt_compile_create((folder + "/linear.onnx").c_str(), &options, &compilation, &error),
        SMELT_OK);
    const smelt_int64 largest[] = {128, -1};
    ASSERT_EQ(smelt_compile_set_limits(compilation, "x", nullptr, largest, 2, nullptr), SMELT_OK);
    ASSERT_EQ(smelt_compile_to_cpu_engine(compilation, nullptr, &cpu, &error), SMELT_OK)
        << error.message;
    ASSERT_EQ(smelt_context_create(cpu, nullptr, &context, nullptr), SMELT_OK);
  }

  /// The same model's on the fake driver, whose kernels compute nothing.
  void openGpu(const smelt_engine_options *options = nullptr) {
    smelt_error error = SMELT_ERROR_INIT;
    smelt_compiled_plan *plan = nullptr;
    ASSERT_EQ(smelt_compile_to_memory(compilation, &plan, &error), SMELT_OK) << error.message;
    const auto *data = static_cast<const std::byte *>(smelt_compiled_plan_data(plan));
    file.assign(data, data + smelt_compiled_plan_bytes(plan));
    smelt_compiled_plan_destroy(plan);
    Result<Plan> read = runtime::readPlan(file, "plan");
    ASSERT_TRUE(read.isOk());
    fake.addKernels(*read->metadata().programs[0]);
    Status created = runtime::createEngine(*read, fake.driver(), options, &gpu);
    ASSERT_TRUE(created.isOk()) << created.message();
  }

  FakeDriver fake;
  std::vector<std::byte> file;
  smelt_compilation *compilation = nullptr;
  smelt_engine *cpu = nullptr, *gpu = nullptr;
  smelt_context *context = nullptr;
};

TEST_F(CpuEngineTest, OneApplicationRunsOnEither) {
  openGpu();
  EXPECT_EQ(describe(cpu), describe(gpu));
  EXPECT_EQ(describe(cpu), "linear; x float32 alias -1 -1 batch 16 16; spare float32 alias -1 -1 "
                           "batch; out float32 alias -1 -1 batch 16 16; weight w of rank 2; "
                           "weight b of rank 1");
  EXPECT_STREQ(smelt_engine_device_name(gpu), "Fake GPU");
  smelt_context *onGpu = nullptr;
  ASSERT_EQ(smelt_context_create(gpu, nullptr, &onGpu, nullptr), SMELT_OK);
  for (int64_t batch : {1, 77, 128, 1, 0}) {
    std::vector<float> x = makeInput(batch);
    EXPECT_EQ(runBatch(onGpu, x).size(), x.size());
    EXPECT_EQ(runBatch(context, x), expectedFor(x, 3)) << batch;
  }
  smelt_context_destroy(onGpu);
}

TEST_F(CpuEngineTest, SaysThatItIsSlow) {
  std::vector<std::pair<smelt_severity, std::string>> heard;
  smelt_logger logger = SMELT_LOGGER_INIT;
  logger.user = &heard;
  logger.write = [](void *user, smelt_severity severity, const char *message) {
    static_cast<decltype(heard) *>(user)->emplace_back(severity, message);
  };
  smelt_engine_options options = SMELT_ENGINE_OPTIONS_INIT;
  options.logger = &logger;
  smelt_engine *engine = nullptr;
  ASSERT_EQ(smelt_compile_to_cpu_engine(compilation, &options, &engine, nullptr), SMELT_OK);
  std::string name = smelt_engine_device_name(engine);
  EXPECT_TRUE(name.starts_with("cpu, ") && name.find(" thread") != std::string::npos) << name;
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].first, SMELT_LOG_WARNING);
  EXPECT_EQ(heard[0].second,
            "'linear' runs on " + name + ", in the interpreter: slower by far than on any GPU");
  smelt_context *own = nullptr;
  ASSERT_EQ(smelt_context_create(engine, nullptr, &own, nullptr), SMELT_OK);
  EXPECT_REFUSED(SMELT_USAGE, "input 'x' has no shape yet", smelt_context_prepare, own);
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_EQ(heard[1], std::pair(SMELT_LOG_ERROR + 0, std::string("input 'x' has no shape yet")));
  smelt_context_destroy(own);
  smelt_engine_destroy(engine);
}

/// What a careless application does wrong, call by call: the code and the message of each.
std::vector<std::string> misuse(const smelt_engine *engine) {
  std::vector<std::string> answers;
  smelt_context *context = nullptr;
  EXPECT_EQ(smelt_context_create(engine, nullptr, &context, nullptr), SMELT_OK);
  auto note = [&](auto function, auto... arguments) {
    smelt_error error = SMELT_ERROR_INIT;
    smelt_code code = function(arguments..., &error);
    answers.push_back(joinText(smelt_code_name(code), ": ", error.message));
  };
  alignas(16) std::array<float, 77 * kWidth + 4> room = {};
  auto bind = [&](bool isInput, const char *name, smelt_location location, size_t first,
                  smelt_element_type type = SMELT_F32, size_t bytes = 77 * kWidth * sizeof(float)) {
    smelt_binding binding = SMELT_BINDING_INIT;
    binding.location = location;
    binding.element_type = type;
    binding.data = room.data() + first;
    binding.bytes = bytes;
    note(isInput ? smelt_context_bind_input : smelt_context_bind_output, context, name, &binding);
  };
  auto setShape = [&](const char *name, std::vector<smelt_int64> shape) {
    note(smelt_context_set_input_shape, context, name, shape.data(), shape.size());
  };
  smelt_int64 extents[2] = {};
  size_t rank = 0, bytes = 0;
  void *const nothing = nullptr;

  setShape("y", {77, kWidth});
  note(smelt_context_output_shape, context, "out", extents, 2, &rank);
  note(smelt_context_output_shape, context, "logits", extents, 2, &rank);
  setShape("spare", {77});
  for (std::vector<smelt_int64> shape :
       {std::vector<smelt_int64>{77}, {77, 15}, {76, kWidth}, {-1, kWidth}, {129, kWidth}}) {
    setShape("x", shape);
    note(smelt_context_prepare, context);
    note(smelt_context_workspace_bytes, context, &bytes);
  }
  setShape("spare", {129});
  note(smelt_context_prepare, context);
  setShape("spare", {77});
  setShape("x", {77, kWidth});
  note(smelt_context_output_shape, context, "out", extents, 1, &rank);
  note(smelt_context_enqueue, context, nothing);
  note(smelt_context_prepare, context);
  note(smelt_context_enqueue, context, nothing);
  note(smelt_context_run, context, nothing);
  bind(true, "x", SMELT_HOST, 0, SMELT_F16);
  bind(true, "x", SMELT_HOST, 0, 99);
  bind(true, "x", 7, 0);
  bind(true, "out", SMELT_HOST, 0);
  bind(true, "x", SMELT_DEVICE, 1);
  bind(true, "x", SMELT_DEVICE, 0);
  bind(true, "spare", SMELT_HOST, 0);
  note(smelt_context_run, context, nothing);
  bind(false, "out", SMELT_DEVICE, 4);
  note(smelt_context_run, context, nothing);
  bind(false, "out", SMELT_HOST, 0, SMELT_F32, 64);
  note(smelt_context_run, context, nothing);
  note(smelt_context_set_workspace, context, static_cast<void *>(room.data() + 1), size_t(64));
  note(smelt_context_set_workspace, context, nothing, size_t(0));
  note(smelt_engine_input, engine, size_t(2), static_cast<smelt_tensor_info *>(nullptr));
  note(smelt_context_prepare, static_cast<smelt_context *>(nullptr));
  smelt_context_options options = SMELT_CONTEXT_OPTIONS_INIT;
  options.cached_shapes = 0;
  smelt_context *refused = nullptr;
  note(smelt_context_create, engine, &options, &refused);
  smelt_context_destroy(context);
  return answers;
}

TEST_F(CpuEngineTest, RefusesWhatAGpuRefusesInTheSameWords) {
  openGpu();
  std::vector<std::string> onCpu = misuse(cpu), onGpu = misuse(gpu);
  ASSERT_EQ(onCpu.size(), onGpu.size());
  for (size_t i = 0; i < onCpu.size(); ++i)
    EXPECT_EQ(onCpu[i], onGpu[i]) << "call " << i;
  for (const char *part : {"no input 'y'",
                           "input 'x' has no shape yet",
                           "no output 'logits'",
                           "not the 1 of the given",
                           "must have shape [77, 16]",
                           "batch = 129",
                           "negative extent",
                           "there is room for 1",
                           "call prepare before enqueue",
                           "input 'x' is not bound",
                           "output 'out' is not bound",
                           "not f16",
                           "99 is not an element type",
                           "7 is not a location",
                           "no input 'out'",
                           "not aligned to 16 bytes",
                           "overlap in device memory",
                           "the memory bound to it has 64",
                           "aligned to 256 bytes",
                           "info is NULL",
                           "context is NULL",
                           "at least one shape"})
    EXPECT_TRUE(std::any_of(onCpu.begin(), onCpu.end(),
                            [&](const std::string &answer) {
                              return answer.starts_with("SMELT_USAGE") &&
                                     answer.find(part) != std::string::npos;
                            }))
        << part << " is missing in:\n"
        << testing::PrintToString(onCpu);
}

TEST_F(CpuEngineTest, RefusesWhatIsOfGpus) {
  std::vector<float> x = makeInput(2);
  runBatch(context, x);
  int stream = 0;
  const char *part = "on the CPU, where there are no streams";
  EXPECT_REFUSED(SMELT_USAGE, part, smelt_context_enqueue, context, &stream);
  EXPECT_REFUSED(SMELT_USAGE, part, smelt_context_run, context, &stream);
  auto ignore = [](void *, const smelt_launch_time *) { FAIL() << "there are no launches"; };
  EXPECT_REFUSED(SMELT_USAGE, "a profile is of kernels", smelt_context_profile, context, 3, ignore,
                 nullptr);

  smelt_engine *engine = nullptr;
  smelt_allocator allocator = SMELT_ALLOCATOR_INIT;
  auto refuse = [&](const char *name, auto set) {
    smelt_engine_options options = SMELT_ENGINE_OPTIONS_INIT;
    set(options);
    EXPECT_REFUSED(SMELT_USAGE, name, smelt_compile_to_cpu_engine, compilation, &options, &engine);
  };
  refuse("set device,", [](auto &options) { options.device = 1; });
  refuse("set allocator,", [&](auto &options) { options.allocator = &allocator; });
  refuse("set cuda_context,", [&](auto &options) { options.cuda_context = &stream; });
  refuse("set share_weights_with,", [&](auto &options) { options.share_weights_with = cpu; });
  EXPECT_EQ(engine, nullptr);

  smelt_engine_options shares = SMELT_ENGINE_OPTIONS_INIT;
  shares.share_weights_with = cpu;
  Result<runtime::EngineOptions> read = api::readEngineOptions(&shares);
  EXPECT_EQ(read.status().code(), StatusCode::kUsage);
  EXPECT_NE(read.status().message().find("an engine on the CPU"), std::string::npos);
}

TEST_F(CpuEngineTest, UsesDeviceMemoryInPlace) {
  constexpr size_t kBytes = 77 * kWidth * sizeof(float);
  std::vector<float> x = makeInput(77);
  smelt_memory *memories[2] = {};
  smelt_binding bindings[2] = {SMELT_BINDING_INIT, SMELT_BINDING_INIT};
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(smelt_memory_allocate(cpu, kBytes, &memories[i], nullptr), SMELT_OK);
    bindings[i].data = smelt_memory_address(memories[i]);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bindings[i].data) % 256, 0u);
    bindings[i].bytes = kBytes;
  }
  std::memcpy(bindings[0].data, x.data(), kBytes);
  const smelt_int64 shape[] = {77, kWidth};
  ASSERT_EQ(smelt_context_set_input_shape(context, "x", shape, 2, nullptr), SMELT_OK);
  ASSERT_EQ(smelt_context_set_input_shape(context, "spare", shape, 1, nullptr), SMELT_OK);
  ASSERT_EQ(smelt_context_bind_input(context, "x", &bindings[0], nullptr), SMELT_OK);
  ASSERT_EQ(smelt_context_bind_input(context, "spare", &bindings[0], nullptr), SMELT_OK);
  ASSERT_EQ(smelt_context_bind_output(context, "out", &bindings[1], nullptr), SMELT_OK);
  ASSERT_EQ(smelt_context_run(context, nullptr, nullptr), SMELT_OK);
  smelt_engine_destroy(std::exchange(cpu, nullptr)); // which its memory outlives
  auto *out = static_cast<const float *>(bindings[1].data);
  EXPECT_EQ(std::vector(out, out + 77 * kWidth), expectedFor(x, 3));
  for (smelt_memory *memory : memories)
    smelt_memory_release(memory);
}

TEST_F(CpuEngineTest, MemoryThatThereIsNotIsRefused) {
  smelt_memory *memory = nullptr;
  EXPECT_REFUSED(SMELT_RESOURCES, "no host memory", smelt_memory_allocate, cpu, SIZE_MAX / 2,
                 &memory);
  ASSERT_EQ(smelt_memory_allocate(cpu, 0, &memory, nullptr), SMELT_OK);
  EXPECT_NE(smelt_memory_address(memory), nullptr);
  smelt_memory_release(memory);
}

/// What on_progress hears of runs, and does about them.
struct Listener {
  smelt_context *context = nullptr;
  size_t steps = 0, total = 0;
  bool stops = false;
  std::string answer; ///< of the context that runs

  static int hear(void *user, const smelt_compile_progress *progress) {
    auto &self = *static_cast<Listener *>(user);
    if (std::string(progress->phase) != "run")
      return 0;
    ++self.steps;
    self.total = progress->total;
    smelt_error error = SMELT_ERROR_INIT;
    EXPECT_EQ(smelt_context_prepare(self.context, &error), SMELT_USAGE);
    self.answer = error.message;
    return self.stops;
  }
};

TEST_F(CpuEngineTest, StopsWhereProgressSays) {
  Listener listener;
  smelt_compile_options options = SMELT_COMPILE_OPTIONS_INIT;
  options.user = &listener;
  options.on_progress = Listener::hear;
  open(options);
  listener.context = context;
  std::vector<float> x = makeInput(3);
  EXPECT_EQ(runBatch(context, x), expectedFor(x, 3));
  EXPECT_GE(listener.steps, listener.total); // and more: it runs twice
  EXPECT_GE(listener.total, 2u);
  EXPECT_NE(listener.answer.find("another thread is using this context"), std::string::npos);

  listener.stops = true;
  listener.steps = 0;
  EXPECT_REFUSED(SMELT_RESOURCES, "stopped", smelt_context_run, context, nullptr);
  EXPECT_EQ(listener.steps, 1u);
  listener.stops = false;
  EXPECT_EQ(runBatch(context, x), expectedFor(x, 3));
}

TEST_F(CpuEngineTest, ContextsOfOneEngineRunInThreads) {
  std::vector<std::thread> threads;
  for (int64_t batch : {1, 5, 77, 31})
    threads.emplace_back([this, batch] {
      smelt_context *own = nullptr;
      ASSERT_EQ(smelt_context_create(cpu, nullptr, &own, nullptr), SMELT_OK);
      for (int64_t rows : {batch, batch + 1, batch}) {
        std::vector<float> x = makeInput(rows);
        EXPECT_EQ(runBatch(own, x), expectedFor(x, 3));
      }
      smelt_context_destroy(own);
    });
  for (std::thread &thread : threads)
    thread.join();
  smelt_engine_destroy(std::exchange(cpu, nullptr));
  smelt_compile_destroy(std::exchange(compilation, nullptr));
  std::vector<float> x = makeInput(2);
  EXPECT_EQ(runBatch(context, x), expectedFor(x, 3)); // a context keeps what it needs
}

TEST_F(CpuEngineTest, UpdatesWeights) {
  std::vector<float> x = makeInput(77), weight = makeWeight(5), bias(kWidth);
  EXPECT_EQ(runBatch(context, x), expectedFor(x, 3));
  smelt_binding values = bindingOf(weight), constant = bindingOf(bias);
  smelt_error error = SMELT_ERROR_INIT;
  ASSERT_EQ(smelt_engine_update_weight(cpu, "w", &values, nullptr, &error), SMELT_OK)
      << error.message;
  std::fill(weight.begin(), weight.end(), 0.0f); // the values were copied
  EXPECT_EQ(runBatch(context, x), expectedFor(x, 5));

  smelt_weight_info info = SMELT_WEIGHT_INFO_INIT;
  ASSERT_EQ(smelt_engine_weight(cpu, 1, &info, nullptr), SMELT_OK);
  ASSERT_NE(info.refusal, nullptr);
  EXPECT_REFUSED(SMELT_USAGE, info.refusal, smelt_engine_update_weight, cpu, "b", &constant,
                 nullptr);
  EXPECT_REFUSED(SMELT_USAGE, "no weight 'v'", smelt_engine_update_weight, cpu, "v", &values,
                 nullptr);
  EXPECT_REFUSED(SMELT_USAGE, "takes 1024 bytes, not 64", smelt_engine_update_weight, cpu, "w",
                 &constant, nullptr);
  EXPECT_REFUSED(SMELT_USAGE, "no streams", smelt_engine_update_weight, cpu, "w", &values, this);
  EXPECT_EQ(runBatch(context, x), expectedFor(x, 5));
}

TEST_F(CpuEngineTest, RunsIn16BitsAsItWasNarrowed) {
  smelt_compile_options options = SMELT_COMPILE_OPTIONS_INIT;
  options.precision = SMELT_PRECISION_FP16;
  open(options);
  std::vector<float> x = makeInput(77);
  EXPECT_EQ(runBatch(context, x), expectedFor(x, 3));
  x.assign(kWidth, 1.0f + 0x1p-12f); // which fp16 takes for 1
  EXPECT_EQ(runBatch(context, x), expectedFor(std::vector<float>(kWidth, 1.0f), 3));
  std::vector<float> weight = makeWeight(5);
  smelt_binding values = bindingOf(weight);
  EXPECT_REFUSED(SMELT_USAGE, "in 16 bits", smelt_engine_update_weight, cpu, "w", &values, nullptr);
}

} // namespace
} // namespace smelt::compiler
