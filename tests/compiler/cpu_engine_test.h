// A small model, and engines of it: one on the CPU, one on the fake driver.
#pragma once

#include "compiler/smelt_compiler.h"
#include "runtime/c_api.h"
#include "runtime/fake_driver.h"
#include "runtime/read_plan.h"
#include "tests/compiler/folder_test.h"
#include "tests/frontend/model_builder.h"

#include <fstream>

namespace smelt::compiler {

inline constexpr int64_t kWidth = 16;

/// w[k][j] of out[r][j] = sum of x[r][k] * w[k][j] + b[j]: small integers, which no precision rounds.
inline std::vector<float> makeWeight(int64_t shift) {
  std::vector<float> values(kWidth * kWidth);
  for (int64_t j = 0; j < kWidth; ++j)
    values[(j + shift) % kWidth * kWidth + j] = static_cast<float>(j + 1);
  return values;
}

inline std::vector<float> makeInput(int64_t batch) {
  std::vector<float> values(batch * kWidth);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i % 7) - 3;
  return values;
}

inline std::vector<float> expectedFor(const std::vector<float> &x, int64_t shift) {
  std::vector<float> out(x.size());
  for (size_t row = 0; row < x.size(); row += kWidth)
    for (int64_t j = 0; j < kWidth; ++j)
      out[row + j] = x[row + (j + shift) % kWidth] * static_cast<float>(j + 1) + 0.5f * j;
  return out;
}

inline smelt_binding bindingOf(std::vector<float> &values) {
  smelt_binding binding = SMELT_BINDING_INIT;
  binding.location = SMELT_HOST;
  binding.data = values.data();
  binding.bytes = values.size() * sizeof(float);
  return binding;
}

/// What a run reads and writes.
struct Batch {
  /// Becomes the context's, with room for the outputs.
  void bind(smelt_context *context) {
    smelt_int64 rows = static_cast<smelt_int64>(x.size()) / kWidth;
    const smelt_int64 shape[] = {rows, kWidth};
    EXPECT_EQ(smelt_context_set_input_shape(context, "x", shape, 2, nullptr), SMELT_OK);
    EXPECT_EQ(smelt_context_set_input_shape(context, "spare", shape, 1, nullptr), SMELT_OK);
    smelt_int64 extents[2] = {};
    size_t rank = 0;
    EXPECT_EQ(smelt_context_output_shape(context, "out", extents, 2, &rank, nullptr), SMELT_OK);
    EXPECT_EQ(rank, 2u);
    spare.resize(rows);
    out.resize(extents[0] * extents[1]);
    smelt_binding input = bindingOf(x), output = bindingOf(out), unread = bindingOf(spare);
    EXPECT_EQ(smelt_context_bind_input(context, "x", &input, nullptr), SMELT_OK);
    EXPECT_EQ(smelt_context_bind_input(context, "spare", &unread, nullptr), SMELT_OK);
    EXPECT_EQ(smelt_context_bind_output(context, "out", &output, nullptr), SMELT_OK);
  }

  std::vector<float> x, spare, out;
};

/// An application: runs a batch of any size, on whatever device its engine has.
inline std::vector<float> runBatch(smelt_context *context, std::vector<float> x) {
  Batch batch{std::move(x), {}, {}};
  batch.bind(context);
  size_t bytes = 0;
  EXPECT_EQ(smelt_context_workspace_bytes(context, &bytes, nullptr), SMELT_OK);
  smelt_error error = SMELT_ERROR_INIT;
  EXPECT_EQ(smelt_context_prepare(context, &error), SMELT_OK) << error.message;
  EXPECT_EQ(smelt_context_enqueue(context, nullptr, &error), SMELT_OK) << error.message;
  EXPECT_EQ(smelt_context_wait(context, &error), SMELT_OK) << error.message;
  std::vector<float> enqueued = batch.out;
  EXPECT_EQ(smelt_context_run(context, nullptr, &error), SMELT_OK) << error.message;
  EXPECT_EQ(batch.out, enqueued);
  return batch.out;
}

/// `cpu` is open, with a `context`; a test opens `gpu` where it needs one.
class CpuEngineTest : public FolderTest {
protected:
  void SetUp() override {
    FolderTest::SetUp();
    std::vector<float> bias(kWidth);
    for (int64_t j = 0; j < kWidth; ++j)
      bias[j] = 0.5f * j;
    test::ModelBuilder model;
    model.input("x", test::DataType::FLOAT, "batch 16")
        .input("spare", test::DataType::FLOAT, "batch") // which nothing reads
        .floats("w", {kWidth, kWidth}, makeWeight(3))
        .floats("b", {kWidth}, bias)
        .node("MatMul", {"x", "w"}, {"h"})
        .node("Add", {"h", "b"}, {"out"})
        .output("out");
    writeModel(model, "linear.onnx");
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

  void writeModel(const test::ModelBuilder &model, const char *name) const {
    std::ofstream(folder + "/" + name, std::ios::binary) << model.bytes();
  }

  void openModel(const char *name, smelt_compile_options options) {
    smelt_context_destroy(std::exchange(context, nullptr));
    smelt_engine_destroy(std::exchange(cpu, nullptr));
    smelt_compile_destroy(std::exchange(compilation, nullptr));
    options.cache_directory = folder.c_str();
    std::string path = folder + "/" + name;
    ASSERT_EQ(smelt_compile_create(path.c_str(), &options, &compilation, nullptr), SMELT_OK);
  }

  /// The CPU's engine, and a context.
  void openCpu() {
    smelt_error error = SMELT_ERROR_INIT;
    ASSERT_EQ(smelt_compile_to_cpu_engine(compilation, nullptr, &cpu, &error), SMELT_OK)
        << error.message;
    ASSERT_EQ(smelt_context_create(cpu, nullptr, &context, nullptr), SMELT_OK);
  }

  /// Both, for at most 128 rows.
  void open(const smelt_compile_options &options) {
    openModel("linear.onnx", options);
    const smelt_int64 largest[] = {128, -1};
    ASSERT_EQ(smelt_compile_set_limits(compilation, "x", nullptr, largest, 2, nullptr), SMELT_OK);
    openCpu();
  }

  /// The same model's on the fake driver, whose kernels compute nothing.
  void openGpu(const smelt_engine_options *options = nullptr) {
    smelt_error error = SMELT_ERROR_INIT;
    smelt_compiled_plan *plan = nullptr;
    ASSERT_EQ(smelt_compile_to_memory(compilation, &plan, &error), SMELT_OK) << error.message;
    const auto *data = static_cast<const std::byte *>(smelt_compiled_plan_data(plan));
    file.assign(data, data + smelt_compiled_plan_bytes(plan));
    smelt_compiled_plan_destroy(plan);
    Result<runtime::Plan> read = runtime::readPlan(file, "plan");
    ASSERT_TRUE(read.isOk());
    fake.addKernels(*read->metadata().programs[0]);
    Status created = runtime::createEngine(*read, fake.driver(), options, &gpu);
    ASSERT_TRUE(created.isOk()) << created.message();
  }

  runtime::FakeDriver fake;
  std::vector<std::byte> file;
  smelt_compilation *compilation = nullptr;
  smelt_engine *cpu = nullptr, *gpu = nullptr;
  smelt_context *context = nullptr;
};

} // namespace smelt::compiler
