// Tensors of other libraries in and out of the C API.
#include "runtime/c_api.h"

#include "tests/runtime/expect_refused.h"
#include "tests/runtime/growing_plan.h"
#include "tests/runtime/lent_tensor.h"

#include <deque>

namespace smelt::runtime {
namespace {

using test::AddScaleData;
using test::GivenTensor;
using test::LentTensor;

class CApiDlpackTest : public testing::Test {
protected:
  void SetUp() override { open(model.file); }
  void TearDown() override {
    smelt_context_destroy(context);
    out.reset();
    for (smelt_memory *held : memory)
      smelt_memory_release(held);
    smelt_engine_destroy(engine);
    EXPECT_EQ(model.fake.leaks(), std::vector<std::string>());
  }

  void open(const std::vector<std::byte> &plan) {
    smelt_context_destroy(std::exchange(context, nullptr));
    smelt_engine_destroy(std::exchange(engine, nullptr));
    Result<Plan> read = readPlan(plan, "m.plan");
    ASSERT_TRUE(test::isOk(read));
    ASSERT_TRUE(test::isOk(createEngine(*read, model.fake.driver(), nullptr, &engine)));
    ASSERT_EQ(smelt_context_create(engine, nullptr, &context, nullptr), SMELT_OK);
  }

  float *onDevice(const std::vector<float> &values) {
    smelt_memory *held = nullptr;
    EXPECT_EQ(smelt_memory_allocate(engine, values.size() * sizeof(float), &held, nullptr),
              SMELT_OK);
    memory.push_back(held);
    auto *data = static_cast<float *>(smelt_memory_address(held));
    std::copy(values.begin(), values.end(), data);
    return data;
  }

  LentTensor &lend(void *data, Shape shape, DLDevice device = {dlpack::kCuda, 0}) {
    return tensors.emplace_back(data, std::move(shape), device);
  }

  /// Another library's tensors of the model's inputs, and one of Smelt's for its output.
  void bindAll(LentTensor &x, LentTensor &y) {
    ASSERT_EQ(smelt_context_bind_input_dlpack(context, "x", &x.managed, nullptr), SMELT_OK);
    ASSERT_EQ(smelt_context_bind_input_dlpack(context, "y", &y.managed, nullptr), SMELT_OK);
    out = giveOutput();
  }

  GivenTensor giveOutput() {
    DLManagedTensorVersioned *given = nullptr;
    EXPECT_EQ(smelt_context_allocate_output_dlpack(context, "out", &given, nullptr), SMELT_OK);
    return GivenTensor(given);
  }

  static std::vector<float> valuesOf(const DLTensor &tensor, size_t count) {
    auto *values = static_cast<const float *>(tensor.data);
    return {values, values + count};
  }

  /// The run that was enqueued last is not over when the library asks next.
  void keepRunning() { model.fake.failCall("cuEventQuery", 0, CUDA_ERROR_NOT_READY); }

  std::deque<LentTensor> tensors;
  test::FakeModel model;
  smelt_engine *engine = nullptr;
  smelt_context *context = nullptr;
  std::vector<smelt_memory *> memory;
  GivenTensor out;
  AddScaleData data = AddScaleData({3, 77});
};

TEST_F(CApiDlpackTest, RunsOnTensorsWhereTheyLie) {
  LentTensor &x = lend(onDevice(data.x), data.shape), &y = lend(onDevice(data.y), data.shape);
  bindAll(x, y);
  model.fake.clearCalls();
  ASSERT_EQ(smelt_context_run(context, nullptr, nullptr), SMELT_OK);
  FakeKernelCall add = model.fake.kernelCalls()[0], scale = model.fake.kernelCalls()[1];
  EXPECT_EQ(add.parameter<void *>(0), x.managed.dl_tensor.data);
  EXPECT_EQ(add.parameter<void *>(1), y.managed.dl_tensor.data);
  EXPECT_EQ(scale.parameter<void *>(2), out->dl_tensor.data);
  for (const char *copy : {"cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuMemcpyDtoDAsync"})
    EXPECT_EQ(model.fake.countOf(copy), 0u);
  EXPECT_EQ(valuesOf(out->dl_tensor, data.expected.size()), data.expected);
  EXPECT_EQ(x.released + y.released, 0);
  smelt_context_destroy(std::exchange(context, nullptr));
  EXPECT_EQ(x.released, 1);
  EXPECT_EQ(y.released, 1);
}

TEST_F(CApiDlpackTest, GivesOutAnOutputThatOutlivesAll) {
  LentTensor &x = lend(onDevice(data.x), data.shape), &y = lend(onDevice(data.y), data.shape);
  bindAll(x, y);
  EXPECT_EQ(out->version.major, 1u);
  EXPECT_EQ(out->flags, 0u);
  const DLTensor &tensor = out->dl_tensor;
  EXPECT_EQ(tensor.device.device_type, dlpack::kCuda);
  EXPECT_EQ(tensor.device.device_id, 0);
  ASSERT_EQ(tensor.ndim, 2);
  EXPECT_EQ(Shape(tensor.shape, tensor.shape + 2), data.shape);
  EXPECT_EQ(Shape(tensor.strides, tensor.strides + 2), Shape({77, 1}));
  EXPECT_EQ(tensor.byte_offset, 0u);
  EXPECT_EQ(tensor.dtype.code, 2);
  EXPECT_EQ(tensor.dtype.bits, 32);
  EXPECT_EQ(tensor.dtype.lanes, 1);
  ASSERT_EQ(smelt_context_run(context, nullptr, nullptr), SMELT_OK);

  smelt_context_destroy(std::exchange(context, nullptr));
  for (smelt_memory *held : std::exchange(memory, {}))
    smelt_memory_release(held);
  smelt_engine_destroy(std::exchange(engine, nullptr));
  EXPECT_EQ(valuesOf(tensor, data.expected.size()), data.expected);
  EXPECT_EQ(model.fake.leaks().size(), 2u) << "the tensor, and the device's context";
  out.reset();
  EXPECT_EQ(model.fake.leaks(), std::vector<std::string>());
}

TEST_F(CApiDlpackTest, AnOutputThatWasLetGoOfIsStillWrittenSafely) {
  LentTensor &x = lend(onDevice(data.x), data.shape), &y = lend(onDevice(data.y), data.shape);
  bindAll(x, y);
  size_t held = model.fake.leaks().size();
  out.reset(); // before any run: the context has it bound
  ASSERT_EQ(smelt_context_run(context, nullptr, nullptr), SMELT_OK);
  EXPECT_EQ(model.fake.leaks().size(), held + 3) << "workspace, graph and its executable";
  out = giveOutput();
  EXPECT_EQ(model.fake.leaks().size(), held + 3) << "a new output in place of the old one";
}

TEST_F(CApiDlpackTest, CopiesHostTensorsAroundARun) {
  std::vector<float> result(data.out.size());
  LentTensor &x = lend(data.x.data(), data.shape, {dlpack::kCpu, 0});
  LentTensor &y = lend(data.y.data(), data.shape, {dlpack::kCudaHost, 0});
  LentTensor &z = lend(result.data(), data.shape, {dlpack::kCpu, 0});
  ASSERT_EQ(smelt_context_bind_input_dlpack(context, "x", &x.managed, nullptr), SMELT_OK);
  ASSERT_EQ(smelt_context_bind_input_dlpack(context, "y", &y.managed, nullptr), SMELT_OK);
  ASSERT_EQ(smelt_context_bind_output_dlpack(context, "out", &z.managed, nullptr), SMELT_OK);
  ASSERT_EQ(smelt_context_run(context, nullptr, nullptr), SMELT_OK);
  EXPECT_EQ(result, data.expected);
}

TEST_F(CApiDlpackTest, TakesManagedMemoryAndTensorsWithoutADeleter) {
  LentTensor &x = lend(onDevice(data.x), data.shape, {dlpack::kCudaManaged, 0});
  LentTensor &y = lend(onDevice(data.y), data.shape);
  y.managed.deleter = nullptr;
  bindAll(x, y);
  ASSERT_EQ(smelt_context_run(context, nullptr, nullptr), SMELT_OK);
  EXPECT_EQ(valuesOf(out->dl_tensor, data.expected.size()), data.expected);
}

TEST_F(CApiDlpackTest, BeginsAtTheByteOffset) {
  std::vector<float> shifted(4);
  shifted.insert(shifted.end(), data.x.begin(), data.x.end());
  LentTensor &x = lend(onDevice(shifted), data.shape), &y = lend(onDevice(data.y), data.shape);
  x.managed.dl_tensor.byte_offset = 4 * sizeof(float);
  bindAll(x, y);
  ASSERT_EQ(smelt_context_run(context, nullptr, nullptr), SMELT_OK);
  EXPECT_EQ(model.fake.kernelCalls()[0].parameter<float *>(0),
            static_cast<float *>(x.managed.dl_tensor.data) + 4);
  EXPECT_EQ(valuesOf(out->dl_tensor, data.expected.size()), data.expected);

  LentTensor &odd = lend(onDevice(shifted), data.shape);
  odd.managed.dl_tensor.byte_offset = sizeof(float);
  EXPECT_REFUSED(SMELT_USAGE, "not aligned to 16 bytes; copy the tensor to memory that is",
                 smelt_context_bind_input_dlpack, context, "x", &odd.managed);
  EXPECT_EQ(odd.released, 1);
}

TEST_F(CApiDlpackTest, TakesShapesFromInputs) {
  LentTensor &x = lend(onDevice(data.x), data.shape), &y = lend(onDevice(data.y), data.shape);
  bindAll(x, y);
  ASSERT_EQ(smelt_context_run(context, nullptr, nullptr), SMELT_OK);
  AddScaleData other({5, 9});
  LentTensor &u = lend(onDevice(other.x), other.shape), &v = lend(onDevice(other.y), other.shape);
  u.setStrides({9, 1});
  ASSERT_EQ(smelt_context_bind_input_dlpack(context, "x", &u.managed, nullptr), SMELT_OK);
  ASSERT_EQ(smelt_context_bind_input_dlpack(context, "y", &v.managed, nullptr), SMELT_OK);
  EXPECT_REFUSED(SMELT_USAGE,
                 "output 'out' has shape [5, 9] for these inputs, and is bound to a tensor of "
                 "shape [3, 77]; bind one of its shape",
                 smelt_context_run, context, nullptr);
  out = giveOutput();
  ASSERT_EQ(smelt_context_run(context, nullptr, nullptr), SMELT_OK);
  EXPECT_EQ(valuesOf(out->dl_tensor, other.expected.size()), other.expected);
}

TEST_F(CApiDlpackTest, AnOutputMustHaveItsShapeAndNotItsSizeAlone) {
  LentTensor &x = lend(onDevice(data.x), data.shape), &y = lend(onDevice(data.y), data.shape);
  LentTensor &turned = lend(onDevice(data.out), {77, 3});
  bindAll(x, y);
  ASSERT_EQ(smelt_context_bind_output_dlpack(context, "out", &turned.managed, nullptr), SMELT_OK);
  EXPECT_REFUSED(SMELT_USAGE, "is bound to a tensor of shape [77, 3]", smelt_context_run, context,
                 nullptr);
}

TEST_F(CApiDlpackTest, RunsOnTensorsWithoutElements) {
  LentTensor &x = lend(nullptr, {0, 77}), &y = lend(nullptr, {0, 77});
  bindAll(x, y);
  EXPECT_EQ(out->dl_tensor.data, nullptr);
  EXPECT_EQ(out->dl_tensor.shape[0], 0);
  EXPECT_EQ(smelt_context_run(context, nullptr, nullptr), SMELT_OK);
}

/// The test plan over tensors of rank 0.
std::vector<std::byte> scalarPlan() {
  test::TestPlan plan;
  plan::MetadataT &metadata = plan.contents.metadata;
  for (auto &dim : metadata.dims)
    for (plan::DimInstruction &instruction : dim->program)
      if (instruction.opcode() == plan::DimOpcode::symbol)
        instruction = plan::DimInstruction(plan::DimOpcode::constant, 1);
  metadata.symbols.clear();
  metadata.guards.clear();
  for (plan::TensorT *tensor :
       {metadata.inputs[0].get(), metadata.inputs[1].get(), metadata.outputs[0].get()})
    tensor->dims.clear();
  return test::planBytes(plan.contents);
}

TEST_F(CApiDlpackTest, RunsOnScalars) {
  open(scalarPlan());
  LentTensor &x = lend(onDevice({2}), {}), &y = lend(onDevice({5}), {});
  x.managed.dl_tensor.shape = nullptr;
  bindAll(x, y);
  EXPECT_EQ(out->dl_tensor.ndim, 0);
  ASSERT_EQ(smelt_context_run(context, nullptr, nullptr), SMELT_OK);
  EXPECT_EQ(valuesOf(out->dl_tensor, 1), std::vector<float>{21});
  LentTensor &vector = lend(onDevice({2}), {1});
  ASSERT_EQ(smelt_context_bind_input_dlpack(context, "x", &vector.managed, nullptr), SMELT_OK);
  EXPECT_REFUSED(SMELT_USAGE, "'x'", smelt_context_run, context, nullptr);
}

TEST_F(CApiDlpackTest, CallsTheDeleterOfWhatItRefuses) {
  auto refuse = [&](const char *message, bool isInput, auto spoil) {
    LentTensor &lent = lend(onDevice(data.x), data.shape);
    spoil(lent.managed);
    auto bind = isInput ? smelt_context_bind_input_dlpack : smelt_context_bind_output_dlpack;
    EXPECT_REFUSED(SMELT_USAGE, message, bind, context, isInput ? "x" : "out", &lent.managed);
    EXPECT_EQ(lent.released, 1) << message;
  };
  using Tensor = DLManagedTensorVersioned;
  refuse(
      "input 'x': the tensor is of DLPack's version 2.7, which Smelt cannot read; give one of 1.x",
      true, [](Tensor &tensor) { tensor.version = {2, 7}, tensor.dl_tensor.ndim = -1; });
  refuse("output 'out': the tensor is read-only", false,
         [](Tensor &tensor) { tensor.flags = dlpack::kReadOnly; });
  refuse("input 'x': the tensor lies on CUDA device 1, the engine uses device 0; copy it there",
         true, [](Tensor &tensor) { tensor.dl_tensor.device.device_id = 1; });
  refuse("output 'out': the tensor lies neither in host memory nor on a CUDA device", false,
         [](Tensor &tensor) { tensor.dl_tensor.device.device_type = 8; });
  refuse("input 'x': the tensor of shape [3, 77] has no memory (data is NULL): it was freed", true,
         [](Tensor &tensor) { tensor.dl_tensor.data = nullptr; });
  refuse("input 'x' has elements of type f32, not bf16", true,
         [](Tensor &tensor) { tensor.dl_tensor.dtype = {4, 16, 1}; });
  refuse("output 'out' has elements of type f32, not f8e4m3fn", false,
         [](Tensor &tensor) { tensor.dl_tensor.dtype = {10, 8, 1}; });
  refuse("input 'x': the tensor packs several elements of 4 bits into a byte", true,
         [](Tensor &tensor) { tensor.dl_tensor.dtype = {1, 4, 1}; });
}

TEST_F(CApiDlpackTest, TakesReadOnlyInputs) {
  LentTensor &lent = lend(onDevice(data.x), data.shape);
  lent.managed.flags = dlpack::kReadOnly;
  EXPECT_EQ(smelt_context_bind_input_dlpack(context, "x", &lent.managed, nullptr), SMELT_OK);
}

TEST_F(CApiDlpackTest, CallsTheDeleterWhereTheCallMakesNoSense) {
  LentTensor &lent = lend(onDevice(data.x), data.shape);
  EXPECT_REFUSED(SMELT_USAGE, "the model has no input 'z'; its inputs are 'x', 'y'",
                 smelt_context_bind_input_dlpack, context, "z", &lent.managed);
  EXPECT_EQ(lent.released, 1);
  EXPECT_REFUSED(SMELT_USAGE, "name is NULL", smelt_context_bind_input_dlpack, context, nullptr,
                 &lent.managed);
  EXPECT_EQ(lent.released, 2);
  smelt_context *none = nullptr;
  EXPECT_REFUSED(SMELT_USAGE, "context is NULL", smelt_context_bind_output_dlpack, none, "out",
                 &lent.managed);
  EXPECT_EQ(lent.released, 3);
  EXPECT_REFUSED(SMELT_USAGE, "tensor is NULL", smelt_context_bind_input_dlpack, context, "x",
                 nullptr);
}

TEST_F(CApiDlpackTest, WhatARefusedTensorWouldReplaceStaysBound) {
  LentTensor &x = lend(onDevice(data.x), data.shape), &y = lend(onDevice(data.y), data.shape);
  bindAll(x, y);
  LentTensor &wrong = lend(onDevice(data.x), {77, 3});
  wrong.managed.dl_tensor.dtype = {0, 32, 1};
  EXPECT_REFUSED(SMELT_USAGE, "not i32", smelt_context_bind_input_dlpack, context, "x",
                 &wrong.managed);
  ASSERT_EQ(smelt_context_run(context, nullptr, nullptr), SMELT_OK);
  EXPECT_EQ(valuesOf(out->dl_tensor, data.expected.size()), data.expected);
}

TEST_F(CApiDlpackTest, RefusesToGiveOutWhatCannotBe) {
  DLManagedTensorVersioned *given = nullptr;
  EXPECT_REFUSED(SMELT_USAGE, "input 'x' has no shape yet", smelt_context_allocate_output_dlpack,
                 context, "out", &given);
  EXPECT_REFUSED(SMELT_USAGE, "the model has no output 'x'; its outputs are 'out'",
                 smelt_context_allocate_output_dlpack, context, "x", &given);
  EXPECT_REFUSED(SMELT_USAGE, "tensor is NULL", smelt_context_allocate_output_dlpack, context,
                 "out", nullptr);
  const smelt_int64 large[] = {int64_t(1) << 38, 77};
  for (const char *name : {"x", "y"})
    ASSERT_EQ(smelt_context_set_input_shape(context, name, large, 2, nullptr), SMELT_OK);
  EXPECT_REFUSED(SMELT_RESOURCES, "an output take", smelt_context_allocate_output_dlpack, context,
                 "out", &given);
  EXPECT_EQ(given, nullptr);
}

// --- When former tensors are let go of ---

TEST_F(CApiDlpackTest, LetsGoAtOnceWhereNothingRuns) {
  LentTensor &first = lend(onDevice(data.x), data.shape),
             &second = lend(onDevice(data.x), data.shape);
  ASSERT_EQ(smelt_context_bind_input_dlpack(context, "x", &first.managed, nullptr), SMELT_OK);
  ASSERT_EQ(smelt_context_bind_input_dlpack(context, "x", &second.managed, nullptr), SMELT_OK);
  EXPECT_EQ(first.released, 1);
  smelt_binding plain = test::cHostBinding(data.x);
  ASSERT_EQ(smelt_context_bind_input(context, "x", &plain, nullptr), SMELT_OK);
  EXPECT_EQ(second.released, 1);
}

TEST_F(CApiDlpackTest, KeepsWhatRunsInFlightUse) {
  LentTensor &x = lend(onDevice(data.x), data.shape), &y = lend(onDevice(data.y), data.shape);
  LentTensor &second = lend(onDevice(data.x), data.shape),
             &third = lend(onDevice(data.x), data.shape);
  bindAll(x, y);
  auto bindX = [&](LentTensor &lent) {
    keepRunning();
    ASSERT_EQ(smelt_context_bind_input_dlpack(context, "x", &lent.managed, nullptr), SMELT_OK);
  };
  auto enqueue = [&] {
    ASSERT_EQ(smelt_context_enqueue(context, model.fake.stream(), nullptr), SMELT_OK);
  };
  ASSERT_EQ(smelt_context_prepare(context, nullptr), SMELT_OK);
  enqueue();
  bindX(second);
  EXPECT_EQ(x.released, 0);
  keepRunning();
  enqueue();
  EXPECT_EQ(x.released, 0);
  bindX(third); // the second run is not over, but the first is
  EXPECT_EQ(x.released, 1);
  EXPECT_EQ(second.released, 0);
  ASSERT_EQ(smelt_context_wait(context, nullptr), SMELT_OK);
  EXPECT_EQ(second.released, 1);
  EXPECT_EQ(x.released + third.released, 1);
}

TEST_F(CApiDlpackTest, NoBindingFailsForWantOfAnEvent) {
  LentTensor &x = lend(onDevice(data.x), data.shape), &y = lend(onDevice(data.y), data.shape);
  LentTensor &second = lend(onDevice(data.x), data.shape);
  bindAll(x, y);
  ASSERT_EQ(smelt_context_prepare(context, nullptr), SMELT_OK);
  ASSERT_EQ(smelt_context_enqueue(context, model.fake.stream(), nullptr), SMELT_OK);
  model.fake.failCall("cuEventCreate", 0, CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_EQ(smelt_context_bind_input_dlpack(context, "x", &second.managed, nullptr), SMELT_OK);
  EXPECT_TRUE(model.fake.hasFailed());
  ASSERT_EQ(smelt_context_wait(context, nullptr), SMELT_OK);
  EXPECT_EQ(x.released, 1);
  EXPECT_EQ(second.released, 0);
}

TEST_F(CApiDlpackTest, LetsGoWhenTheNextCallFindsTheRunOver) {
  LentTensor &x = lend(onDevice(data.x), data.shape), &y = lend(onDevice(data.y), data.shape);
  LentTensor &second = lend(onDevice(data.x), data.shape);
  bindAll(x, y);
  ASSERT_EQ(smelt_context_prepare(context, nullptr), SMELT_OK);
  ASSERT_EQ(smelt_context_enqueue(context, model.fake.stream(), nullptr), SMELT_OK);
  keepRunning();
  ASSERT_EQ(smelt_context_bind_input_dlpack(context, "x", &second.managed, nullptr), SMELT_OK);
  EXPECT_EQ(x.released, 0);
  ASSERT_EQ(smelt_context_enqueue(context, model.fake.stream(), nullptr), SMELT_OK);
  EXPECT_EQ(x.released, 1);
}

TEST_F(CApiDlpackTest, KeepsWhatACapturedRunUses) {
  LentTensor &x = lend(onDevice(data.x), data.shape), &y = lend(onDevice(data.y), data.shape);
  LentTensor &second = lend(onDevice(data.x), data.shape);
  bindAll(x, y);
  ASSERT_EQ(smelt_context_prepare(context, nullptr), SMELT_OK);
  CUstream stream = model.fake.stream();
  model.fake.beginCapture(stream);
  ASSERT_EQ(smelt_context_enqueue(context, stream, nullptr), SMELT_OK);
  ASSERT_EQ(smelt_context_bind_input_dlpack(context, "x", &second.managed, nullptr), SMELT_OK);
  std::shared_ptr<const FakeGraph> captured = model.fake.endCapture(stream);
  ASSERT_NE(captured, nullptr);
  ASSERT_EQ(smelt_context_run(context, nullptr, nullptr), SMELT_OK);
  EXPECT_EQ(x.released, 0);
  model.fake.launch(*captured);
  smelt_context_destroy(std::exchange(context, nullptr));
  EXPECT_EQ(x.released, 1);
  EXPECT_EQ(second.released, 1);
}

TEST_F(CApiDlpackTest, AsksForRunsWithoutBreakingACapture) {
  LentTensor &x = lend(onDevice(data.x), data.shape), &y = lend(onDevice(data.y), data.shape);
  LentTensor &second = lend(onDevice(data.x), data.shape);
  bindAll(x, y);
  ASSERT_EQ(smelt_context_run(context, nullptr, nullptr), SMELT_OK);
  ASSERT_EQ(smelt_context_enqueue(context, model.fake.stream(), nullptr), SMELT_OK);
  CUstream stream = model.fake.stream();
  model.fake.beginCapture(stream); // of another part of the application
  ASSERT_EQ(smelt_context_bind_input_dlpack(context, "x", &second.managed, nullptr), SMELT_OK);
  EXPECT_EQ(x.released, 1);
  EXPECT_GT(model.fake.countOf("cuEventQuery"), 0u);
  EXPECT_NE(model.fake.endCapture(stream), nullptr);
}

TEST_F(CApiDlpackTest, LetsNoExceptionOfADeleterThrough) {
  LentTensor &lent = lend(onDevice(data.x), data.shape);
  lent.managed.deleter = [](DLManagedTensorVersioned *self) {
    ++static_cast<LentTensor *>(self->manager_ctx)->released;
    throw 7;
  };
  ASSERT_EQ(smelt_context_bind_input_dlpack(context, "x", &lent.managed, nullptr), SMELT_OK);
  smelt_context_destroy(std::exchange(context, nullptr));
  EXPECT_EQ(lent.released, 1);
}

TEST_F(CApiDlpackTest, GrowsASliceOfACacheInPlace) {
  bool wasInPlace = false;
  test::addAppend(model.fake, wasInPlace);
  test::GrowingPlan plan;
  open(test::planBytes(plan.contents));
  float *cache = onDevice({1, 2, 3, -1, -1, -1, -1, 11, 12, 13, -1, -1, -1, -1});
  LentTensor &past = lend(cache, {2, 3}), &fresh = lend(onDevice({4, 5, 14, 15}), {2, 2}),
             &present = lend(cache, {2, 5});
  past.setStrides({7, 1});
  present.setStrides({7, 1});
  ASSERT_EQ(smelt_context_bind_input_dlpack(context, "past", &past.managed, nullptr), SMELT_OK);
  ASSERT_EQ(smelt_context_bind_input_dlpack(context, "fresh", &fresh.managed, nullptr), SMELT_OK);
  ASSERT_EQ(smelt_context_bind_output_dlpack(context, "present", &present.managed, nullptr),
            SMELT_OK);
  ASSERT_EQ(smelt_context_run(context, nullptr, nullptr), SMELT_OK);
  EXPECT_TRUE(wasInPlace);
  EXPECT_EQ(std::vector<float>(cache, cache + 14),
            std::vector<float>({1, 2, 3, 4, 5, -1, -1, 11, 12, 13, 14, 15, -1, -1}));

  LentTensor &strided =
      lend(onDevice({4, 5, 0, 14, 15, 0}), {2, 2}); // which the model does not let grow
  strided.setStrides({3, 1});
  EXPECT_REFUSED(SMELT_USAGE, "input 'fresh': the tensor is not contiguous",
                 smelt_context_bind_input_dlpack, context, "fresh", &strided.managed);
}

} // namespace
} // namespace smelt::runtime
