// Engines of smelt.h on the CPU: what an application does with a GPU's engine it does with them.
#include "tests/compiler/cpu_engine_test.h"
#include "runtime/dlpack.h"
#include "tests/runtime/expect_refused.h"

#include <cstring>
#include <thread>

namespace smelt::compiler {
namespace {

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
  options.on_progress = [](void *, const smelt_load_progress *) {
    return 1;
  }; // has nothing to stop
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
  Batch batch{x, {}, {}};
  batch.bind(context);
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

/// A tensor of another library, which counts what was let go of.
struct OthersTensor {
  OthersTensor(std::vector<float> &values, std::vector<int64_t> extents, int32_t device,
               size_t &released)
      : shape(std::move(extents)), released(released) {
    managed.version = dlpack::kVersion;
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensorVersioned *self) {
      auto *owner = static_cast<OthersTensor *>(self->manager_ctx);
      ++owner->released;
      delete owner;
    };
    managed.dl_tensor = {values.data(),
                         {device, 0},
                         static_cast<int32_t>(shape.size()),
                         dlpack::typeOf(SMELT_F32),
                         shape.data(),
                         nullptr,
                         0};
  }

  DLManagedTensorVersioned managed = {};
  std::vector<int64_t> shape;
  size_t &released;
};

TEST_F(CpuEngineTest, TakesAndGivesTensorsByDlpack) {
  std::vector<float> x = makeInput(77), spare(77);
  size_t released = 0;
  auto give = [&](std::vector<float> &values, std::vector<int64_t> shape,
                  int32_t device = dlpack::kCpu) {
    return &(new OthersTensor(values, std::move(shape), device, released))->managed;
  };
  ASSERT_EQ(smelt_context_bind_input_dlpack(context, "x", give(x, {77, kWidth}), nullptr),
            SMELT_OK);
  ASSERT_EQ(smelt_context_bind_input_dlpack(context, "spare", give(spare, {77}), nullptr),
            SMELT_OK);
  DLManagedTensorVersioned *out = nullptr;
  ASSERT_EQ(smelt_context_allocate_output_dlpack(context, "out", &out, nullptr), SMELT_OK);
  ASSERT_EQ(smelt_context_run(context, nullptr, nullptr), SMELT_OK);
  EXPECT_EQ(released, 0u);
  EXPECT_EQ(out->dl_tensor.device.device_type, dlpack::kCpu);
  const auto *values = static_cast<const float *>(out->dl_tensor.data);
  EXPECT_EQ(std::vector(values, values + 77 * kWidth), expectedFor(x, 3));

  EXPECT_REFUSED(SMELT_USAGE, "the tensor lies on CUDA device 0, the engine runs on the CPU",
                 smelt_context_bind_input_dlpack, context, "x",
                 give(x, {77, kWidth}, dlpack::kCuda));
  EXPECT_EQ(released, 1u);
  ASSERT_EQ(smelt_context_bind_input_dlpack(context, "x", give(x, {77, kWidth}), nullptr),
            SMELT_OK);
  EXPECT_EQ(released, 2u); // no run uses the one before
  EXPECT_REFUSED(SMELT_USAGE, "context is NULL", smelt_context_bind_input_dlpack, nullptr, "x",
                 give(x, {77, kWidth}));
  EXPECT_EQ(released, 3u);
  smelt_context_destroy(std::exchange(context, nullptr));
  EXPECT_EQ(released, 5u);
  EXPECT_EQ(values[0], expectedFor(x, 3)[0]); // an output outlives its context
  out->deleter(out);
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
