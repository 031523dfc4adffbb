#include "runtime/update_weight.h"

#include "runtime/c_api.h"
#include "runtime/narrow_float.h"
#include "runtime/weight_loops.h"
#include "tests/runtime/expect_refused.h"
#include "tests/runtime/fake_model.h"

#include <cstring>
#include <limits>
#include <numeric>

namespace smelt::runtime {
namespace {

using test::AddScaleData;
using test::FakeModel;
using test::isOk;
using test::isRefused;
using Loops = std::vector<plan::CopyLoop>;

Binding hostOf(std::vector<float> &values) { return test::hostBinding(values); }

/// The table of 32 floats of a plan whose kernels read it, too, and an initializer that lies in it.
class UpdateWeightTest : public testing::Test {
protected:
  void TearDown() override {
    engine.reset();
    EXPECT_EQ(model.fake.leaks(), std::vector<std::string>());
  }

  void open(std::vector<uint64_t> shape, Loops loops, uint64_t sourceOffset = 0,
            uint64_t targetOffset = 0, plan::ElementType stored = plan::ElementType::f32) {
    test::TestPlan &plan = model.plan;
    plan.table.assign(32, -1);
    plan.contents.weights[1] = codegen::WeightBytes::of(std::as_bytes(std::span(plan.table)));
    for (size_t i = 0; i < 2; ++i) {
      plan.program(i).buffers.push_back(std::make_unique<plan::BufferT>());
      plan.program(i).buffers.back()->kind = plan::BufferKind::weight;
      plan.program(i).buffers.back()->index = 1;
    }
    plan::InitializerT &initializer = *plan.contents.metadata.initializers[1];
    initializer.shape = std::move(shape);
    plan::WeightPartT &part = *initializer.parts[0];
    part.loops = std::move(loops);
    part.source_offset = sourceOffset;
    part.target_offset = targetOffset;
    part.element_type = stored;
    model.file = test::planBytes(plan.contents);
    Result<SharedEngine> created = model.createEngine();
    ASSERT_TRUE(isOk(created));
    engine = *created;
    model.fake.clearCalls();
  }

  static std::vector<float> counting(size_t count) {
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), 0.0f);
    return values;
  }

  std::vector<float> table() const {
    std::vector<float> values(32);
    std::memcpy(values.data(), reinterpret_cast<const void *>(engine->weightAddress(1)), 128);
    return values;
  }

  FakeModel model;
  SharedEngine engine;
};

TEST_F(UpdateWeightTest, CopiesWhatLiesAsItIsInTheModel) {
  open({4, 8}, {{32, 1, 1}});
  std::vector<float> values = counting(32);
  ASSERT_TRUE(isOk(updateWeight(*engine, "table", hostOf(values), model.fake.stream())));
  EXPECT_EQ(table(), values);
  EXPECT_EQ(model.fake.countOf("cuMemcpyHtoDAsync"), 1u);
  EXPECT_EQ(model.fake.countOf("cuStreamSynchronize"), 0u);
  EXPECT_TRUE(isUpdatedByCopies(*engine->metadata().initializers[1]));
}

/// As the columns of Q in a matrix of Q, K and V.
TEST_F(UpdateWeightTest, CopiesColumnsOfAMergedMatrixAtOnce) {
  open({4, 3}, {{4, 3, 8}, {3, 1, 1}}, 0, 2);
  std::vector<float> values = counting(12);
  ASSERT_TRUE(isOk(updateWeight(*engine, "table", hostOf(values), model.fake.stream())));
  std::vector<float> expected(32, -1);
  for (size_t row = 0; row < 4; ++row)
    for (size_t column = 0; column < 3; ++column)
      expected[row * 8 + 2 + column] = values[row * 3 + column];
  EXPECT_EQ(table(), expected);
  EXPECT_EQ(model.fake.countOf("cuMemcpy2DAsync"), 1u);
  EXPECT_EQ(model.fake.countOf("cuStreamSynchronize"), 0u);
}

TEST_F(UpdateWeightTest, CopiesFromTheDevice) {
  open({4, 3}, {{4, 3, 8}, {3, 1, 1}}, 0, 2);
  std::vector<float> values = counting(12);
  Result<CurrentContext> current = CurrentContext::enter(*engine->device());
  CUdeviceptr memory = 0;
  ASSERT_EQ(engine->api().cuMemAlloc(&memory, 48), CUDA_SUCCESS);
  std::memcpy(reinterpret_cast<void *>(memory), values.data(), 48);
  Binding binding{plan::ElementType::f32, Location::kDevice, reinterpret_cast<void *>(memory), 48};
  ASSERT_TRUE(isOk(updateWeight(*engine, "table", binding, model.fake.stream())));
  EXPECT_EQ(table()[2 * 8 + 2 + 1], values[2 * 3 + 1]);
  EXPECT_EQ(model.fake.countOf("cuMemcpy2DAsync"), 1u);
  EXPECT_EQ(model.fake.countOf("cuMemcpyDtoHAsync"), 0u);
  ASSERT_EQ(engine->api().cuMemFree(memory), CUDA_SUCCESS);
}

/// [4, 8] as [8, 4].
TEST_F(UpdateWeightTest, LaysOutAnewWhatIsTurnedRound) {
  open({4, 8}, {{8, 1, 4}, {4, 8, 1}});
  EXPECT_FALSE(isUpdatedByCopies(*engine->metadata().initializers[1]));
  std::vector<float> values = counting(32), expected(32);
  for (size_t row = 0; row < 4; ++row)
    for (size_t column = 0; column < 8; ++column)
      expected[column * 4 + row] = values[row * 8 + column];
  ASSERT_TRUE(isOk(updateWeight(*engine, "table", hostOf(values), model.fake.stream())));
  EXPECT_EQ(table(), expected);
  EXPECT_EQ(model.fake.countOf("cuMemcpyHtoDAsync"), 1u);
  EXPECT_EQ(model.fake.countOf("cuStreamSynchronize"), 1u);

  Result<CurrentContext> current = CurrentContext::enter(*engine->device());
  CUdeviceptr memory = 0;
  ASSERT_EQ(engine->api().cuMemAlloc(&memory, 128), CUDA_SUCCESS);
  for (float &value : values)
    value *= 2;
  std::memcpy(reinterpret_cast<void *>(memory), values.data(), 128);
  Binding binding{plan::ElementType::f32, Location::kDevice, reinterpret_cast<void *>(memory), 128};
  ASSERT_TRUE(isOk(updateWeight(*engine, "table", binding, model.fake.stream())));
  EXPECT_EQ(table()[4], 2);
  ASSERT_EQ(engine->api().cuMemFree(memory), CUDA_SUCCESS);
}

/// Two matrices [2, 8] in turns of 4 columns, of which this is the second: [2, 2, 2, 4].
TEST_F(UpdateWeightTest, CopiesColumnsThatTakeTurns) {
  open({2, 8}, {{4, 4, 8}, {4, 1, 1}}, 0, 4);
  std::vector<float> values = counting(16), expected(32, -1);
  for (size_t group = 0; group < 4; ++group)
    for (size_t i = 0; i < 4; ++i)
      expected[group * 8 + 4 + i] = values[group * 4 + i];
  ASSERT_TRUE(isOk(updateWeight(*engine, "table", hostOf(values), model.fake.stream())));
  EXPECT_EQ(table(), expected);
}

TEST_F(UpdateWeightTest, RepeatsWhatIsExpanded) {
  open({8}, {{4, 0, 8}, {8, 1, 1}});
  std::vector<float> values = counting(8);
  ASSERT_TRUE(isOk(updateWeight(*engine, "table", hostOf(values), model.fake.stream())));
  for (size_t i = 0; i < 32; ++i)
    EXPECT_EQ(table()[i], values[i % 8]);
}

TEST_F(UpdateWeightTest, RoundsToTheTypeOfTheWeight) {
  open({5}, {{5, 1, 1}}, 0, 1, plan::ElementType::f16);
  std::vector<float> values = {1, -2.5f, 65520, 0.1f, 6e-8f};
  ASSERT_TRUE(isOk(updateWeight(*engine, "table", hostOf(values), model.fake.stream())));
  uint16_t halves[6];
  std::memcpy(halves, reinterpret_cast<const void *>(engine->weightAddress(1)), sizeof(halves));
  EXPECT_EQ(std::vector<uint16_t>(halves + 1, halves + 6),
            (std::vector<uint16_t>{0x3C00, 0xC100, 0x7C00, 0x2E66, 0x0001}));
}

TEST(NarrowFloat, AgreesWithTheCompilersHalves) {
  for (uint64_t bits = 0; bits <= 0xFFFFFFFF; bits += 4093) {
    auto value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (value != value)
      EXPECT_GT(halfOf(value) & 0x7FFF, 0x7C00) << bits;
    else
      ASSERT_EQ(halfOf(value), std::bit_cast<uint16_t>(static_cast<_Float16>(value))) << bits;
  }
  EXPECT_EQ(bfloat16Of(1.0f), 0x3F80);
  EXPECT_EQ(bfloat16Of(1.00390625f), 0x3F80); // a tie
  EXPECT_EQ(bfloat16Of(1.01171875f), 0x3F82); // another
  EXPECT_EQ(bfloat16Of(3.4e38f), 0x7F80);
  EXPECT_GT(bfloat16Of(std::numeric_limits<float>::quiet_NaN()) & 0x7FFF, 0x7F80);
}

TEST_F(UpdateWeightTest, LaterRunsSeeItAndTakeNoMore) {
  open({4, 8}, {{32, 1, 1}});
  Result<std::unique_ptr<Context>> context = Context::create(engine, {});
  AddScaleData data({3, 77});
  CUstream stream = model.fake.stream();
  ASSERT_TRUE(isOk(FakeModel::bindHost(**context, data)));
  ASSERT_TRUE(isOk((*context)->run(stream)));
  model.fake.clearCalls();
  ASSERT_TRUE(isOk((*context)->enqueue(stream)));
  std::vector<std::string> before = model.fake.calls();
  std::vector<float> gain = {6};
  ASSERT_TRUE(isOk(updateWeight(*engine, "gain", hostOf(gain), stream)));
  model.fake.clearCalls();
  ASSERT_TRUE(isOk((*context)->enqueue(stream)));
  EXPECT_EQ(model.fake.calls(), before);
  for (float &value : data.expected)
    value *= 2;
  EXPECT_EQ(data.out, data.expected);
}

/// The gain is copied once a shape to where the kernel reads it.
void copyGainOnce(test::TestPlan &plan) {
  test::DimBuilder dims(plan.contents.metadata);
  uint32_t four = dims.constant(4);
  for (size_t i = 0; i < 2; ++i) {
    plan::ProgramT &program = plan.program(i);
    program.buffers.push_back(std::make_unique<plan::BufferT>());
    program.buffers.back()->kind = plan::BufferKind::shape;
    program.buffers.back()->size_bytes = four;
    plan::CopyNodeT copy;
    copy.target = plan::Place(5, plan::kNone);
    copy.source = plan::Place(3, plan::kNone);
    copy.size_bytes = four;
    auto launch = std::make_unique<plan::LaunchT>();
    launch->node.Set(std::move(copy));
    auto step = std::make_unique<plan::StepT>();
    step->variants.push_back(std::make_unique<plan::VariantT>());
    step->variants[0]->launches.push_back(std::move(launch));
    program.once.push_back(std::move(step));
    test::kernelOf(program, 1).arguments[1] = {plan::ArgumentKind::pointer, 5, plan::kNone};
  }
}

TEST_F(UpdateWeightTest, ComputesAgainWhatAShapeComputesOfWeights) {
  copyGainOnce(model.plan);
  open({4, 8}, {{32, 1, 1}});
  Result<std::unique_ptr<Context>> context = Context::create(engine, {});
  CUstream stream = model.fake.stream();
  AddScaleData small({1, 5}), large({3, 77});
  std::vector<float> gain = {6};
  auto runsRight = [&](AddScaleData &data, float factor) {
    EXPECT_TRUE(isOk(FakeModel::bindHost(**context, data)));
    EXPECT_TRUE(isOk((*context)->run(stream)));
    for (size_t i = 0; i < data.out.size(); ++i)
      EXPECT_EQ(data.out[i], (data.x[i] + data.y[i]) * factor);
  };
  runsRight(small, 3);
  runsRight(large, 3);
  ASSERT_TRUE(isOk(updateWeight(*engine, "gain", hostOf(gain), stream)));
  runsRight(small, 6); // whose graph is kept
  runsRight(large, 6);
  size_t copies = model.fake.countOf("cuMemcpyDtoDAsync");
  runsRight(large, 6);
  EXPECT_EQ(model.fake.countOf("cuMemcpyDtoDAsync"), copies);
}

TEST_F(UpdateWeightTest, IsSharedByEnginesThatShareTheWeight) {
  open({4, 8}, {{32, 1, 1}});
  EngineOptions options;
  options.sharesWeightsWith = engine;
  Result<SharedEngine> other = model.createEngine(options);
  ASSERT_TRUE(isOk(other));
  std::vector<float> values = counting(32);
  ASSERT_TRUE(isOk(updateWeight(**other, "table", hostOf(values), model.fake.stream())));
  EXPECT_EQ(table(), values);
  // Not by one that comes later, whose plan has other values.
  Result<SharedEngine> later = model.createEngine(options);
  ASSERT_TRUE(isOk(later));
  EXPECT_NE((*later)->weightAddress(1), engine->weightAddress(1));
  EXPECT_EQ((*later)->weightAddress(0), engine->weightAddress(0));
}

TEST_F(UpdateWeightTest, RefusesWhatDoesNotFit) {
  open({4, 8}, {{32, 1, 1}});
  std::vector<float> values = counting(32);
  auto refusal = [&](const char *name, Binding binding, CUstream stream = nullptr) {
    return updateWeight(*engine, name, binding, stream);
  };
  EXPECT_TRUE(isRefused(refusal("none", hostOf(values)), StatusCode::kUsage,
                        "the model has no weight 'none'"));
  EXPECT_TRUE(isRefused(refusal("epsilon", hostOf(values)), StatusCode::kUsage,
                        "the weight 'epsilon' cannot be updated: kernels hold it as a literal"));
  Binding wrong = hostOf(values);
  wrong.elementType = plan::ElementType::f16;
  EXPECT_TRUE(isRefused(refusal("table", wrong), StatusCode::kUsage,
                        "the weight 'table' has the type float32, not float16"));
  wrong = hostOf(values);
  wrong.bytes -= 4;
  EXPECT_TRUE(isRefused(refusal("table", wrong), StatusCode::kUsage,
                        "the weight 'table' takes 128 bytes, not 124"));
  wrong = hostOf(values);
  wrong.data = nullptr;
  EXPECT_TRUE(isRefused(refusal("table", wrong), StatusCode::kUsage, "are NULL"));
  CUstream stream = model.fake.stream();
  model.fake.beginCapture(stream);
  EXPECT_TRUE(isRefused(refusal("table", hostOf(values), stream), StatusCode::kUsage,
                        "not updated on a capturing stream"));
  EXPECT_NE(model.fake.endCapture(stream), nullptr);
  EXPECT_EQ(table(), std::vector<float>(32, -1));
}

TEST_F(UpdateWeightTest, IsPartOfTheCApi) {
  open({4, 8}, {{8, 1, 4}, {4, 8, 1}});
  smelt_engine *handle = nullptr;
  Result<Plan> read = readPlan(model.file, "m.plan");
  ASSERT_TRUE(isOk(createEngine(*read, model.fake.driver(), nullptr, &handle)));
  ASSERT_EQ(smelt_engine_weight_count(handle), 3u);
  smelt_weight_info info = SMELT_WEIGHT_INFO_INIT;
  ASSERT_EQ(smelt_engine_weight(handle, 0, &info, nullptr), SMELT_OK);
  EXPECT_STREQ(info.name, "gain");
  EXPECT_STREQ(info.placement, "all of 'gain'");
  EXPECT_EQ(info.refusal, nullptr);
  EXPECT_TRUE(info.is_copied);
  ASSERT_EQ(smelt_engine_weight(handle, 1, &info, nullptr), SMELT_OK);
  ASSERT_EQ(info.rank, 2u);
  EXPECT_EQ(info.extents[1], 8);
  EXPECT_FALSE(info.is_copied);
  ASSERT_EQ(smelt_engine_weight(handle, 2, &info, nullptr), SMELT_OK);
  EXPECT_STREQ(info.refusal, "kernels hold it as a literal");
  EXPECT_REFUSED(SMELT_USAGE, "there is no weight 3; there are 3", smelt_engine_weight, handle, 3,
                 &info);
  float gain = 5;
  smelt_binding values = SMELT_BINDING_INIT;
  values.location = SMELT_HOST;
  values.data = &gain;
  values.bytes = sizeof(gain);
  EXPECT_EQ(smelt_engine_update_weight(handle, "gain", &values, nullptr, nullptr), SMELT_OK);
  EXPECT_REFUSED(SMELT_USAGE, "cannot be updated", smelt_engine_update_weight, handle, "epsilon",
                 &values, nullptr);
  EXPECT_REFUSED(SMELT_USAGE, "values is NULL", smelt_engine_update_weight, handle, "gain", nullptr,
                 nullptr);
  smelt_engine_destroy(handle);

  smelt_plan *plan = nullptr;
  ASSERT_EQ(smelt_plan_open_from_memory(model.file.data(), model.file.size(), &plan, nullptr),
            SMELT_OK);
  EXPECT_EQ(smelt_plan_weight_count(plan), 3u);
  ASSERT_EQ(smelt_plan_weight(plan, 1, &info, nullptr), SMELT_OK);
  EXPECT_STREQ(info.name, "table");
  smelt_plan_close(plan);
}

} // namespace
} // namespace smelt::runtime
