#include "runtime/schedule.h"

#include "runtime/checked_math.h"
#include "runtime/text.h"

#include <algorithm>

namespace smelt::runtime {

namespace {

constexpr std::array<int64_t, 3> kMaxGrid = {0x7FFFFFFF, 65535, 65535};

std::array<uint32_t, 3> extents(const plan::Extent3 &extent) {
  return {extent.x(), extent.y(), extent.z()};
}

class Scheduler {
public:
  Scheduler(const plan::MetadataT &metadata, const plan::ProgramT &program, ShapeValues shapes)
      : metadata(metadata), program(program) {
    schedule.shapes = std::move(shapes);
  }

  Result<Schedule> make() {
    SMELT_ASSIGN_OR_RETURN(schedule.inputBytes, sizesOf(metadata.inputs));
    SMELT_ASSIGN_OR_RETURN(schedule.outputBytes, sizesOf(metadata.outputs));
    SMELT_RETURN_IF_ERROR(measureBuffers());
    SMELT_RETURN_IF_ERROR(placeSlots());
    for (const auto &launch : program.launches) {
      SMELT_ASSIGN_OR_RETURN(ScheduledLaunch scheduled, scheduleLaunch(*launch));
      schedule.launches.push_back(std::move(scheduled));
    }
    return std::move(schedule);
  }

private:
  template <typename... Pieces> static Status tooLarge(const Pieces &...pieces) {
    return Status(StatusCode::kUsage, joinText("these shapes are too large: ", pieces...));
  }

  int64_t valueOf(uint32_t dim) const { return schedule.shapes.dims[dim]; }

  Result<std::vector<uint64_t>>
  sizesOf(const std::vector<std::unique_ptr<plan::TensorT>> &tensors) const {
    std::vector<uint64_t> sizes;
    for (const auto &tensor : tensors) {
      SMELT_ASSIGN_OR_RETURN(int64_t bytes, tensorBytes(*tensor, schedule.shapes));
      sizes.push_back(static_cast<uint64_t>(bytes));
    }
    return sizes;
  }

  Status measureBuffers() {
    for (const auto &buffer : program.buffers) {
      int64_t bytes = 0;
      if (buffer->kind == plan::BufferKind::arena)
        bytes = valueOf(buffer->size_bytes);
      if (bytes < 0)
        return tooLarge("a buffer would have ", bytes, " bytes");
      bufferBytes.push_back(static_cast<uint64_t>(bytes));
    }
    return {};
  }

  Status placeSlots() {
    std::vector<uint64_t> slotBytes(program.arena_slots);
    for (size_t i = 0; i < program.buffers.size(); ++i)
      if (program.buffers[i]->kind == plan::BufferKind::arena) {
        uint64_t &slot = slotBytes[program.buffers[i]->index];
        slot = std::max(slot, bufferBytes[i]);
      }
    for (uint64_t bytes : slotBytes) {
      schedule.slotOffsets.push_back(schedule.arenaBytes);
      std::optional<uint64_t> end = checkedAdd(schedule.arenaBytes, bytes);
      end = end ? checkedAlign(*end, plan::kWeightBytes) : std::nullopt;
      if (!end)
        return tooLarge("the arena exceeds 64 bits");
      schedule.arenaBytes = *end;
    }
    return {};
  }

  Result<ScheduledLaunch> scheduleLaunch(const plan::LaunchT &launch) const {
    ScheduledLaunch scheduled;
    scheduled.kernel = launch.kernel;
    scheduled.block = extents(launch.block);
    scheduled.cluster = extents(launch.cluster);
    if (scheduled.cluster == std::array<uint32_t, 3>{1, 1, 1})
      scheduled.cluster = {};
    scheduled.sharedBytes = launch.shared_bytes;
    scheduled.bytes = launch.bytes == plan::kNone ? 0 : valueOf(launch.bytes);
    scheduled.flops = launch.flops == plan::kNone ? 0 : valueOf(launch.flops);
    SMELT_RETURN_IF_ERROR(setGrid(launch, scheduled));
    for (const plan::Argument &argument : launch.arguments)
      SMELT_RETURN_IF_ERROR(addArgument(launch, argument, scheduled));
    return scheduled;
  }

  Status setGrid(const plan::LaunchT &launch, ScheduledLaunch &scheduled) const {
    const std::array<uint32_t, 3> dims = {launch.grid.x(), launch.grid.y(), launch.grid.z()};
    for (int axis = 0; axis < 3; ++axis) {
      int64_t extent = valueOf(dims[axis]);
      if (extent < 0 || extent > kMaxGrid[axis])
        return tooLarge("launch '", launch.name, "' would have ", extent, " blocks along axis ",
                        axis, ", a grid has at most ", kMaxGrid[axis]);
      scheduled.grid[axis] = static_cast<uint32_t>(extent);
      scheduled.isEmpty = scheduled.isEmpty || extent == 0;
    }
    return {};
  }

  Status addArgument(const plan::LaunchT &launch, const plan::Argument &argument,
                     ScheduledLaunch &scheduled) const {
    auto position = static_cast<uint32_t>(scheduled.cells.size());
    if (argument.kind() == plan::ArgumentKind::pointer) {
      scheduled.pointers.push_back({position, argument.index()});
      scheduled.cells.push_back(0);
      return {};
    }
    int64_t value = valueOf(argument.index());
    if (value < INT32_MIN || value > INT32_MAX)
      return tooLarge("launch '", launch.name, "' takes ", dimText(metadata, argument.index()),
                      " = ", value, " as a 32-bit integer");
    scheduled.cells.push_back(static_cast<uint64_t>(value));
    return {};
  }

  const plan::MetadataT &metadata;
  const plan::ProgramT &program;
  std::vector<uint64_t> bufferBytes;
  Schedule schedule;
};

} // namespace

void ScheduledLaunch::setAddresses(std::span<const uint64_t> bufferAddresses) {
  for (const Pointer &pointer : pointers)
    cells[pointer.argument] = bufferAddresses[pointer.buffer];
}

Result<Schedule> makeSchedule(const plan::MetadataT &metadata, const plan::ProgramT &program,
                              ShapeValues shapes) {
  return Scheduler(metadata, program, std::move(shapes)).make();
}

} // namespace smelt::runtime
