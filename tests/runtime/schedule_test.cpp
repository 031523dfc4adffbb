#include "runtime/schedule.h"

#include "tests/runtime/fake_model.h"

namespace smelt::runtime {
namespace {

using Opcode = plan::DimOpcode;
using test::isOk;
using test::isRefused;

Result<Schedule> scheduleOf(test::TestPlan &plan, const Shape &shape) {
  const plan::MetadataT &metadata = plan.contents.metadata;
  SMELT_ASSIGN_OR_RETURN(ShapeValues values, solveShapes(metadata, std::array{shape, shape}));
  return makeSchedule(metadata, *metadata.programs[0], std::move(values));
}

TEST(Schedule, EvaluatesGridsArgumentsAndSizes) {
  test::TestPlan plan;
  Result<Schedule> schedule = scheduleOf(plan, {3, 100});
  ASSERT_TRUE(isOk(schedule));
  const ScheduledLaunch &add = schedule->launches[0];
  EXPECT_EQ(add.grid, (std::array<uint32_t, 3>{2, 1, 1}));
  EXPECT_EQ(add.block, (std::array<uint32_t, 3>{256, 1, 1}));
  EXPECT_EQ(add.cells[3], 300u);
  EXPECT_EQ(add.bytes, 1200);
  EXPECT_EQ(add.flops, 300);
  EXPECT_EQ(schedule->arenaBytes, 1280u);
  EXPECT_EQ(schedule->inputBytes, (std::vector<uint64_t>{1200, 1200}));
}

TEST(Schedule, MakesASlotAsLargeAsItsLargestBuffer) {
  test::TestPlan plan;
  test::DimBuilder dims(plan.contents.metadata);
  plan::ProgramT &program = plan.program(0);
  auto addArena = [&](uint32_t slot, int64_t bytes) {
    auto buffer = std::make_unique<plan::BufferT>();
    buffer->kind = plan::BufferKind::arena;
    buffer->index = slot;
    buffer->size_bytes = dims.constant(bytes);
    program.buffers.push_back(std::move(buffer));
  };
  program.arena_slots = 3;
  addArena(0, 5000);
  addArena(1, 1);
  addArena(2, 256);
  Result<Schedule> schedule = scheduleOf(plan, {1, 10});
  ASSERT_TRUE(isOk(schedule));
  EXPECT_EQ(schedule->slotOffsets, (std::vector<uint64_t>{0, 5120, 5376}));
  EXPECT_EQ(schedule->arenaBytes, 5632u);
}

TEST(Schedule, FillsInAddresses) {
  test::TestPlan plan;
  Result<Schedule> schedule = scheduleOf(plan, {1, 10});
  ASSERT_TRUE(isOk(schedule));
  schedule->launches[0].setAddresses(std::array<uint64_t, 5>{1000, 2000, 3000, 4000, 5000});
  EXPECT_EQ(schedule->launches[0].cells, (std::vector<uint64_t>{1000, 2000, 5000, 10}));
}

TEST(Schedule, MarksLaunchesWithoutWork) {
  test::TestPlan plan;
  uint32_t none = test::DimBuilder(plan.contents.metadata).constant(0);
  plan.program(0).launches[0]->grid = plan::GridDims(none, none, none);
  plan.program(0).buffers[4]->size_bytes = none;
  Result<Schedule> schedule = scheduleOf(plan, {1, 10});
  ASSERT_TRUE(isOk(schedule));
  EXPECT_TRUE(schedule->launches[0].isEmpty);
  EXPECT_FALSE(schedule->launches[1].isEmpty);
  EXPECT_EQ(schedule->arenaBytes, 0u);
}

TEST(Schedule, RefusesWhatNoDeviceCanTake) {
  test::TestPlan count;
  EXPECT_TRUE(isRefused(scheduleOf(count, {int64_t(1) << 32, 2}).status(), StatusCode::kUsage,
                        "launch 'add' takes batch*seq = 8589934592 as a 32-bit integer"));
  test::TestPlan grid;
  test::DimBuilder gridDims(grid.contents.metadata);
  grid.program(0).launches[0]->grid = plan::GridDims(0, gridDims.constant(65536), 0);
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
