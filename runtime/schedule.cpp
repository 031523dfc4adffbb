#include "runtime/schedule.h"

#include "runtime/checked_math.h"
#include "runtime/text.h"

#include <algorithm>
#include <cstring>

namespace smelt::runtime {

namespace {

constexpr std::array<int64_t, 3> kMaxGrid = {0x7FFFFFFF, 65535, 65535};

/// A range of some list.
struct Span {
  uint32_t first = 0, count = 0;
};

class Scheduler {
public:
  Scheduler(const plan::MetadataT &metadata, const LaunchTable &table,
            std::shared_ptr<const ShapeValues> shapes)
      : metadata(metadata), program(table.program()), table(table), dims(shapes->dims),
        isTouched(program.buffers.size()) {
    schedule.shapes = std::move(shapes);
  }

  Result<Schedule> make() {
    SMELT_ASSIGN_OR_RETURN(schedule.inputBytes, sizesOf(metadata.inputs));
    SMELT_ASSIGN_OR_RETURN(schedule.outputBytes, sizesOf(metadata.outputs));
    SMELT_RETURN_IF_ERROR(scheduleSteps(program.once, schedule.once));
    schedule.dependencies.clear(); // what runs once runs in order
    SMELT_RETURN_IF_ERROR(scheduleSteps(program.steps, schedule.launches));
    SMELT_RETURN_IF_ERROR(placeBuffers());
    return std::move(schedule);
  }

private:
  template <typename... Pieces> static Status tooLarge(const Pieces &...pieces) {
    return Status(StatusCode::kUsage, joinText("these shapes are too large: ", pieces...));
  }

  int64_t valueOf(uint32_t dim) const { return dims[dim]; }

  Result<std::vector<uint64_t>>
  sizesOf(const std::vector<std::unique_ptr<plan::TensorT>> &tensors) const {
    std::vector<uint64_t> sizes;
    sizes.reserve(tensors.size());
    for (const auto &tensor : tensors) {
      SMELT_ASSIGN_OR_RETURN(int64_t bytes, tensorBytes(*tensor, *schedule.shapes));
      sizes.push_back(static_cast<uint64_t>(bytes));
    }
    return sizes;
  }

  // --- Launches ---

  Status scheduleSteps(const std::vector<std::unique_ptr<plan::StepT>> &steps,
                       std::vector<ScheduledLaunch> &launches) {
    tails.clear();
    ends.clear();
    launches.reserve(steps.size());
    for (const auto &step : steps)
      SMELT_RETURN_IF_ERROR(scheduleStep(*step, launches));
    return {};
  }

  bool holds(const plan::VariantT &variant) const {
    if (!variant.rule)
      return true;
    int64_t value = valueOf(variant.rule->value);
    return variant.rule->first <= value && value <= variant.rule->last;
  }

  /// Schedules the launches of the first variant whose rule holds. The first of them follows what
  /// the step depends on, each other the one before it.
  Status scheduleStep(const plan::StepT &step, std::vector<ScheduledLaunch> &launches) {
    const plan::VariantT *chosen = nullptr;
    uint32_t id = nextId;
    for (const auto &variant : step.variants) {
      if (chosen == nullptr && holds(*variant)) {
        chosen = variant.get();
        id = nextId;
      }
      nextId += static_cast<uint32_t>(variant->launches.size());
    }
    if (chosen == nullptr)
      return Status(StatusCode::kPlan, joinText("the plan lacks ", table[id].label,
                                                " for these shapes; compile the model again"));
    Span follows = endsOf(step);
    for (size_t i = 0; i < chosen->launches.size(); ++i, ++id)
      if (hasWork(*table[id].launch)) {
        SMELT_ASSIGN_OR_RETURN(ScheduledLaunch scheduled, scheduleLaunch(id));
        setDependencies(scheduled, follows);
        follows = addEnd(static_cast<uint32_t>(launches.size()));
        launches.push_back(scheduled);
      }
    tails.push_back(follows);
    return {};
  }

  /// The last launches of the steps that `step` depends on.
  Span endsOf(const plan::StepT &step) {
    if (step.depends_on.size() == 1)
      return tails[step.depends_on[0]];
    auto first = static_cast<uint32_t>(ends.size());
    for (uint32_t earlier : step.depends_on)
      for (uint32_t i = 0; i < tails[earlier].count; ++i)
        ends.push_back(ends[tails[earlier].first + i]);
    std::sort(ends.begin() + first, ends.end());
    ends.erase(std::unique(ends.begin() + first, ends.end()), ends.end());
    return {first, static_cast<uint32_t>(ends.size()) - first};
  }

  Span addEnd(uint32_t launch) {
    ends.push_back(launch);
    return {static_cast<uint32_t>(ends.size() - 1), 1};
  }

  void setDependencies(ScheduledLaunch &launch, Span follows) {
    launch.firstDependency = static_cast<uint32_t>(schedule.dependencies.size());
    launch.dependencyCount = follows.count;
    for (uint32_t i = 0; i < follows.count; ++i)
      schedule.dependencies.push_back(ends[follows.first + i]);
  }

  bool hasWork(const plan::LaunchT &launch) const {
    if (const plan::CopyNodeT *copy = launch.node.AsCopyNode())
      return valueOf(copy->size_bytes) != 0;
    if (const plan::SetNodeT *set = launch.node.AsSetNode())
      return valueOf(set->size_bytes) != 0;
    const plan::GridDims &grid = launch.node.AsKernelNode()->grid;
    return valueOf(grid.x()) != 0 && valueOf(grid.y()) != 0 && valueOf(grid.z()) != 0;
  }

  Result<ScheduledLaunch> scheduleLaunch(uint32_t id) {
    const plan::LaunchT &launch = *table[id].launch;
    ScheduledLaunch scheduled;
    scheduled.id = id;
    if (const plan::CopyNodeT *copy = launch.node.AsCopyNode()) {
      touch(copy->target.buffer());
      touch(copy->source.buffer());
      SMELT_ASSIGN_OR_RETURN(scheduled.bytes, sizeOf(launch, copy->size_bytes));
    } else if (const plan::SetNodeT *set = launch.node.AsSetNode()) {
      touch(set->target.buffer());
      SMELT_ASSIGN_OR_RETURN(scheduled.bytes, sizeOf(launch, set->size_bytes));
    } else {
      SMELT_RETURN_IF_ERROR(setGrid(launch, scheduled));
      scheduled.sharedBytes = launch.node.AsKernelNode()->shared_bytes;
      SMELT_RETURN_IF_ERROR(setParameters(table[id], scheduled));
    }
    return scheduled;
  }

  Result<uint64_t> sizeOf(const plan::LaunchT &launch, uint32_t dim) const {
    if (valueOf(dim) < 0)
      return tooLarge("launch '", launch.name, "' would move ", valueOf(dim), " bytes");
    return static_cast<uint64_t>(valueOf(dim));
  }

  Status setGrid(const plan::LaunchT &launch, ScheduledLaunch &scheduled) const {
    const plan::GridDims &grid = launch.node.AsKernelNode()->grid;
    const std::array<uint32_t, 3> extents = {grid.x(), grid.y(), grid.z()};
    for (size_t axis = 0; axis < 3; ++axis) {
      int64_t extent = valueOf(extents[axis]);
      if (extent < 0 || extent > kMaxGrid[axis])
        return tooLarge("launch '", launch.name, "' would have ", extent, " blocks along axis ",
                        axis, ", a grid has at most ", kMaxGrid[axis]);
      scheduled.grid[axis] = static_cast<uint32_t>(extent);
    }
    return {};
  }

  Status setParameters(const PlannedLaunch &planned, ScheduledLaunch &scheduled) {
    scheduled.firstBlock = static_cast<uint32_t>(schedule.parameters.size());
    schedule.parameters.resize(schedule.parameters.size() + planned.parameterBlocks);
    const plan::KernelNodeT &kernel = *planned.kernel();
    for (size_t i = 0; i < kernel.arguments.size(); ++i) {
      std::byte *target = schedule.parameters.data()[scheduled.firstBlock].bytes;
      SMELT_RETURN_IF_ERROR(
          setParameter(planned, kernel.arguments[i], target + planned.offsets[i]));
    }
    return {};
  }

  Status setParameter(const PlannedLaunch &planned, const plan::Argument &argument,
                      std::byte *target) {
    const plan::KernelNodeT &kernel = *planned.kernel();
    switch (argument.kind()) {
    case plan::ArgumentKind::pointer:
      touch(argument.index());
      return {};
    case plan::ArgumentKind::tensor_map:
      touch(kernel.tensor_maps[argument.index()]->buffer);
      return checkTensorMap(*planned.launch, *kernel.tensor_maps[argument.index()]);
    case plan::ArgumentKind::bytes:
      std::memcpy(target, kernel.constants.data() + argument.index(), argument.detail());
      return {};
    case plan::ArgumentKind::size32:
    case plan::ArgumentKind::size64:
      break;
    }
    int64_t value = valueOf(argument.index());
    bool is32 = argument.kind() == plan::ArgumentKind::size32;
    if (is32 && (value < INT32_MIN || value > INT32_MAX))
      return tooLarge("launch '", planned.launch->name, "' takes ",
                      dimText(metadata, argument.index()), " = ", value, " as a 32-bit integer");
    std::memcpy(target, &value, is32 ? 4 : 8); // plans are little-endian
    return {};
  }

  /// What the driver would refuse of a tensor map, where sizes decide it.
  static constexpr int64_t kMaxTensorMapSize = int64_t(1) << 32;
  static constexpr int64_t kMaxTensorMapStride = (int64_t(1) << 40) - 16;
  Status checkTensorMap(const plan::LaunchT &launch, const plan::TensorMapT &map) const {
    for (uint32_t dim : map.sizes)
      if (valueOf(dim) < 1 || valueOf(dim) > kMaxTensorMapSize)
        return tooLarge("launch '", launch.name, "' takes a tensor with an extent of ",
                        valueOf(dim));
    for (uint32_t dim : map.byte_strides)
      if (valueOf(dim) < 0 || valueOf(dim) > kMaxTensorMapStride || valueOf(dim) % 16 != 0)
        return tooLarge("launch '", launch.name, "' takes a tensor with rows ", valueOf(dim),
                        " bytes apart");
    return {};
  }

  void touch(uint32_t buffer) { isTouched[buffer] = true; }

  // --- Memory ---

  /// Buffers that no launch of these shapes touches take no memory.
  Status placeBuffers() {
    std::vector<uint64_t> slotBytes(program.arena_slots);
    schedule.shapeOffsets.resize(program.buffers.size());
    for (size_t i = 0; i < program.buffers.size(); ++i) {
      const plan::BufferT &buffer = *program.buffers[i];
      bool isArena = buffer.kind == plan::BufferKind::arena;
      if (!isTouched[i] || (!isArena && buffer.kind != plan::BufferKind::shape))
        continue;
      int64_t bytes = valueOf(buffer.size_bytes);
      if (bytes < 0)
        return tooLarge("a buffer would have ", bytes, " bytes");
      if (isArena)
        slotBytes[buffer.index] = std::max(slotBytes[buffer.index], static_cast<uint64_t>(bytes));
      else if (!append(schedule.shapeOffsets[i], schedule.shapeBytes, static_cast<uint64_t>(bytes)))
        return tooLarge("what is kept for them exceeds 64 bits");
    }
    schedule.slotOffsets.resize(slotBytes.size());
    for (size_t slot = 0; slot < slotBytes.size(); ++slot)
      if (!append(schedule.slotOffsets[slot], schedule.arenaBytes, slotBytes[slot]))
        return tooLarge("the arena exceeds 64 bits");
    return {};
  }

  /// Places `bytes` bytes at the end of a memory of `total`; false when 64 bits do not hold it.
  static bool append(uint64_t &offset, uint64_t &total, uint64_t bytes) {
    offset = total;
    std::optional<uint64_t> end = checkedAdd(total, bytes);
    end = end ? checkedAlign(*end, plan::kWeightBytes) : std::nullopt;
    total = end.value_or(0);
    return end.has_value();
  }

  const plan::MetadataT &metadata;
  const plan::ProgramT &program;
  const LaunchTable &table;
  const std::vector<int64_t> &dims;
  std::vector<bool> isTouched; // by some launch of these shapes
  uint32_t nextId = 0;
  std::vector<Span> tails;    // of each step: its last launches, or those that it would follow
  std::vector<uint32_t> ends; // what tails are ranges of
  Schedule schedule;
};

} // namespace

Result<Schedule> makeSchedule(const plan::MetadataT &metadata, const LaunchTable &table,
                              std::shared_ptr<const ShapeValues> shapes) {
  return Scheduler(metadata, table, std::move(shapes)).make();
}

} // namespace smelt::runtime
