#include "runtime/schedule.h"

#include "tests/runtime/fake_model.h"

#include <cstring>
#include <limits>

namespace smelt::runtime {
namespace {

using Opcode = plan::DimOpcode;
using test::isOk;
using test::isRefused;

Result<Schedule> scheduleOf(test::TestPlan &plan, const Shape &shape) {
  const plan::MetadataT &metadata = plan.contents.metadata;
  SMELT_ASSIGN_OR_RETURN(ShapeValues values, solveShapes(metadata, std::array{shape, shape}));
  LaunchTable table(*metadata.programs[0]);
  return makeSchedule(metadata, table, std::make_shared<const ShapeValues>(std::move(values)));
}

/// A parameter of a scheduled launch of the test plan's kernels, which take 8 bytes each at most.
int64_t parameterOf(Schedule &schedule, size_t launch, size_t index) {
  int64_t value = 0;
  std::memcpy(&value, schedule.parametersOf(schedule.launches[launch]) + 8 * index, sizeof(value));
  return value;
}

TEST(Schedule, EvaluatesGridsArgumentsAndSizes) {
  test::TestPlan plan;
  Result<Schedule> schedule = scheduleOf(plan, {3, 100});
  ASSERT_TRUE(isOk(schedule));
  EXPECT_EQ(schedule->launches[0].grid, (std::array<uint32_t, 3>{2, 1, 1}));
  EXPECT_EQ(parameterOf(*schedule, 0, 3), 300);
  EXPECT_EQ(parameterOf(*schedule, 1, 3), 300);
  EXPECT_EQ(schedule->arenaBytes, 1280u);
  EXPECT_EQ(schedule->inputBytes, (std::vector<uint64_t>{1200, 1200}));
}

uint32_t addArena(plan::ProgramT &program, uint32_t slot, uint32_t bytes) {
  auto buffer = std::make_unique<plan::BufferT>();
  buffer->kind = plan::BufferKind::arena;
  buffer->index = slot;
  buffer->size_bytes = bytes;
  program.buffers.push_back(std::move(buffer));
  return static_cast<uint32_t>(program.buffers.size() - 1);
}

plan::Argument pointer(uint32_t buffer) {
  return {plan::ArgumentKind::pointer, buffer, plan::kNone};
}

TEST(Schedule, MakesASlotAsLargeAsItsLargestBuffer) {
  test::TestPlan plan;
  test::DimBuilder dims(plan.contents.metadata);
  plan::ProgramT &program = plan.program(0);
  program.arena_slots = 4;
  std::vector<plan::Argument> &arguments = test::kernelOf(program, 0).arguments;
  arguments.push_back(pointer(addArena(program, 0, dims.constant(5000))));
  arguments.push_back(pointer(addArena(program, 1, dims.constant(1))));
  addArena(program, 2, dims.constant(1 << 20)); // which no launch touches
  arguments.push_back(pointer(addArena(program, 3, dims.constant(256))));
  Result<Schedule> schedule = scheduleOf(plan, {1, 10});
  ASSERT_TRUE(isOk(schedule));
  EXPECT_EQ(schedule->slotOffsets, (std::vector<uint64_t>{0, 5120, 5376, 5376}));
  EXPECT_EQ(schedule->arenaBytes, 5632u);
}

TEST(Schedule, LeavesOutLaunchesWithoutWorkAndTheirMemory) {
  test::TestPlan plan;
  uint32_t none = test::DimBuilder(plan.contents.metadata).constant(0);
  test::kernelOf(plan.program(0), 0).grid = plan::GridDims(none, none, none);
  plan.program(0).buffers[4]->size_bytes = none;
  Result<Schedule> schedule = scheduleOf(plan, {1, 10});
  ASSERT_TRUE(isOk(schedule));
  ASSERT_EQ(schedule->launches.size(), 1u);
  EXPECT_EQ(schedule->launches[0].id, 1u);
  EXPECT_EQ(schedule->launches[0].dependencyCount, 0u);
  EXPECT_EQ(schedule->arenaBytes, 0u);
}

/// Gives the plan's first step three variants, by seq: up to 10, 11 to 99, from 100; the last takes
/// two launches, of which the second has no work at one row.
void addVariants(test::TestPlan &plan) {
  test::DimBuilder dims(plan.contents.metadata);
  uint32_t seq = dims.symbol("seq");
  plan::StepT &step = *plan.program(0).steps[0];
  for (int i = 0; i < 2; ++i)
    step.variants.push_back(std::make_unique<plan::VariantT>(*step.variants[0]));
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const std::pair<int64_t, int64_t> ranges[] = {{0, 10}, {11, 99}, {100, kMost}};
  for (size_t i = 0; i < 3; ++i) {
    step.variants[i]->rule = std::make_unique<plan::SizeRuleT>();
    step.variants[i]->rule->value = seq;
    step.variants[i]->rule->first = ranges[i].first;
    step.variants[i]->rule->last = ranges[i].second;
    step.variants[i]->rule->unit = "positions";
  }
  auto &launches = step.variants[2]->launches;
  launches.push_back(std::make_unique<plan::LaunchT>(*launches[0]));
  uint32_t rest = dims.apply(Opcode::sub, dims.symbol("batch"), dims.constant(1));
  launches[1]->node.AsKernelNode()->grid =
      plan::GridDims(rest, test::kernelOf(plan.program(0), 0).grid.y(),
                     test::kernelOf(plan.program(0), 0).grid.z());
}

std::vector<uint32_t> idsOf(const Schedule &schedule) {
  std::vector<uint32_t> ids;
  for (const ScheduledLaunch &launch : schedule.launches)
    ids.push_back(launch.id);
  return ids;
}

TEST(Schedule, RunsTheVariantWhoseRuleHolds) {
  test::TestPlan plan;
  addVariants(plan);
  const std::pair<int64_t, uint32_t> expected[] = {{1, 0}, {10, 0}, {11, 1}, {99, 1}, {100, 2}};
  for (auto [seq, first] : expected) {
    Result<Schedule> schedule = scheduleOf(plan, {1, seq});
    ASSERT_TRUE(isOk(schedule));
    EXPECT_EQ(idsOf(*schedule), (std::vector<uint32_t>{first, 4})) << seq;
    EXPECT_EQ(schedule->launches[1].dependencyCount, 1u);
    EXPECT_EQ(schedule->dependencies[schedule->launches[1].firstDependency], 0u);
  }
}

TEST(Schedule, OrdersTheLaunchesOfAVariantOneByOne) {
  test::TestPlan plan;
  addVariants(plan);
  Result<Schedule> schedule = scheduleOf(plan, {2, 100});
  ASSERT_TRUE(isOk(schedule));
  EXPECT_EQ(idsOf(*schedule), (std::vector<uint32_t>{2, 3, 4}));
  EXPECT_EQ(schedule->dependencies, (std::vector<uint32_t>{0, 1}));
}

TEST(Schedule, SaysThatNoVariantTakesTheShape) {
  test::TestPlan plan;
  addVariants(plan);
  plan.program(0).steps[0]->variants[1]->rule->first = 20;
  EXPECT_TRUE(isRefused(scheduleOf(plan, {1, 15}).status(), StatusCode::kPlan,
                        "the plan lacks kernel 0 (/layer/Add) for these shapes"));
}

/// a -> (nothing) -> c, and b -> (nothing): what depends on a step without work depends on what that
/// depends on, once.
TEST(Schedule, PassesOverStepsWithoutWork) {
  test::TestPlan plan;
  plan::ProgramT &program = plan.program(0);
  uint32_t none = test::DimBuilder(plan.contents.metadata).constant(0);
  for (int i = 0; i < 3; ++i)
    program.steps.push_back(std::make_unique<plan::StepT>(*program.steps[1]));
  program.steps[1]->depends_on = {};
  program.steps[2]->depends_on = {0};
  program.steps[3]->depends_on = {0, 1};
  program.steps[4]->depends_on = {2, 3};
  for (size_t step : {2, 3})
    test::kernelOf(program, step).grid = plan::GridDims(none, none, none);
  Result<Schedule> schedule = scheduleOf(plan, {1, 10});
  ASSERT_TRUE(isOk(schedule));
  EXPECT_EQ(idsOf(*schedule), (std::vector<uint32_t>{0, 1, 4}));
  EXPECT_EQ(schedule->dependencies, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(schedule->launches[2].dependencyCount, 2u);
}

TEST(Schedule, WritesEveryKindOfParameter) {
  test::TestPlan plan;
  test::DimBuilder dims(plan.contents.metadata);
  uint32_t large = dims.apply(Opcode::mul, dims.symbol("seq"), dims.constant(int64_t(1) << 40));
  plan::KernelNodeT &kernel = test::kernelOf(plan.program(0), 0);
  kernel.constants = {9, 1, 2, 3, 4, 5, 6, 7, 8};
  kernel.arguments = {{plan::ArgumentKind::size64, large, 0}, {plan::ArgumentKind::bytes, 1, 8}};
  Result<Schedule> schedule = scheduleOf(plan, {1, 10});
  ASSERT_TRUE(isOk(schedule));
  EXPECT_EQ(parameterOf(*schedule, 0, 0), int64_t(10) << 40);
  EXPECT_EQ(parameterOf(*schedule, 0, 1), 0x0807060504030201);
}

TEST(Schedule, RefusesWhatNoDeviceCanTake) {
  test::TestPlan count;
  EXPECT_TRUE(isRefused(scheduleOf(count, {int64_t(1) << 32, 2}).status(), StatusCode::kUsage,
                        "launch 'add' takes batch*seq = 8589934592 as a 32-bit integer"));
  test::TestPlan grid;
  test::DimBuilder gridDims(grid.contents.metadata);
  test::kernelOf(grid.program(0), 0).grid = plan::GridDims(0, gridDims.constant(65536), 0);
  EXPECT_TRUE(isRefused(scheduleOf(grid, {1, 10}).status(), StatusCode::kUsage,
                        "launch 'add' would have 65536 blocks along axis 1"));
  test::TestPlan negative;
  test::DimBuilder negativeDims(negative.contents.metadata);
  negative.program(0).buffers[4]->size_bytes = negativeDims.constant(-1);
  EXPECT_TRUE(isRefused(scheduleOf(negative, {1, 10}).status(), StatusCode::kUsage,
                        "a buffer would have -1 bytes"));
}

} // namespace
} // namespace smelt::runtime
