// What engines on the CPU refuse: what a GPU's refuse, in the same words, and what is of GPUs alone.
#include "tests/compiler/cpu_engine_test.h"
#include "tests/runtime/expect_refused.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace smelt::compiler {
namespace {

using CpuEngineRefusals = CpuEngineTest;

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

TEST_F(CpuEngineRefusals, RefusesWhatAGpuRefusesInTheSameWords) {
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

TEST_F(CpuEngineRefusals, RefusesWhatIsOfGpus) {
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

TEST_F(CpuEngineRefusals, MemoryThatThereIsNotIsRefused) {
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "AddressSanitizer ends the program where memory that there is not is asked for";
#endif
  smelt_memory *memory = nullptr;
  EXPECT_REFUSED(SMELT_RESOURCES, "no host memory", smelt_memory_allocate, cpu, SIZE_MAX / 2,
                 &memory);
  ASSERT_EQ(smelt_memory_allocate(cpu, 0, &memory, nullptr), SMELT_OK);
  EXPECT_NE(smelt_memory_address(memory), nullptr);
  smelt_memory_release(memory);
}

TEST_F(CpuEngineRefusals, ARunThatFailsSaysWhyAndNothingOfTheRunBefore) {
  test::ModelBuilder model;
  model.input("ids", test::DataType::INT64, "n")
      .floats("table", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})
      .node("Gather", {"table", "ids"}, {"rows"})
      .named("/lookup")
      .output("rows");
  writeModel(model, "lookup.onnx");
  openModel("lookup.onnx", SMELT_COMPILE_OPTIONS_INIT);
  openCpu();
  int64_t ids[] = {3, 9};
  std::vector<float> rows(4);
  smelt_binding input = SMELT_BINDING_INIT, output = bindingOf(rows);
  input.element_type = SMELT_I64;
  input.location = SMELT_HOST;
  input.data = ids;
  input.bytes = sizeof(ids);
  const smelt_int64 shape[] = {2};
  ASSERT_EQ(smelt_context_set_input_shape(context, "ids", shape, 1, nullptr), SMELT_OK);
  ASSERT_EQ(smelt_context_bind_input(context, "ids", &input, nullptr), SMELT_OK);
  ASSERT_EQ(smelt_context_bind_output(context, "rows", &output, nullptr), SMELT_OK);
  smelt_error first = SMELT_ERROR_INIT, second = SMELT_ERROR_INIT;
  EXPECT_EQ(smelt_context_run(context, nullptr, &first), SMELT_RUN_FAILED);
  EXPECT_NE(std::strstr(first.message, "/lookup"), nullptr) << first.message;
  EXPECT_EQ(smelt_context_run(context, nullptr, &second), SMELT_RUN_FAILED);
  EXPECT_STREQ(second.message, first.message);
  ids[1] = 0;
  ASSERT_EQ(smelt_context_run(context, nullptr, nullptr), SMELT_OK);
  EXPECT_EQ(rows, (std::vector<float>{7, 8, 1, 2}));
}

} // namespace
} // namespace smelt::compiler
