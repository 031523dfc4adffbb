#include "runtime/verify_program.h"

#include "runtime/checked_math.h"
#include "runtime/verify_shared.h"

#include <algorithm>
#include <set>

namespace smelt {

namespace {

constexpr uint64_t kMaxThreadsPerBlock = 1024;
constexpr uint64_t kMaxClusterBlocks = 16;
constexpr uint64_t kMaxParameterBytes = 32764;
constexpr uint64_t kTensorMapRoom = 192; // 128 bytes, and what aligning them to 64 may skip
constexpr size_t kMaxTensorMapRank = 5;
constexpr uint32_t kMaxTensorMapBox = 256;
constexpr uint32_t kMaxTensorMapStep = 8;
constexpr uint32_t kMaxWindowChannels = 256, kMaxWindowPixels = 1024;

bool isExtent(const plan::Extent3 &extent, uint64_t most) {
  return extent.x() >= 1 && extent.y() >= 1 && extent.z() >= 1 && extent.x() <= most &&
         extent.y() <= most && extent.z() <= most &&
         uint64_t(extent.x()) * extent.y() * extent.z() <= most;
}

class ProgramVerifier {
public:
  ProgramVerifier(const plan::MetadataT &metadata, const plan::ProgramT &program,
                  const SectionSizes &sections)
      : metadata(metadata), program(program), sections(sections) {}

  Status verify() {
    Result<Architecture> architecture = parseArchitecture(program.arch);
    if (!architecture.isOk())
      return architecture.status();
    for (const auto &module : program.modules)
      if (!liesWithin(module->code.offset(), module->code.size(), sections.code) ||
          !liesWithin(module->source.offset(), module->source.size(), sections.sources) ||
          !liesWithin(module->fusion.offset(), module->fusion.size(), sections.sources))
        return invalid("module '", module->name, "' lies outside its section");
    for (const auto &kernel : program.kernels)
      if (kernel->entry.empty() || kernel->module_index >= program.modules.size())
        return invalid("kernel '", kernel->entry, "' refers to module ", kernel->module_index,
                       " of ", program.modules.size());
    SMELT_RETURN_IF_ERROR(verifyBuffers());
    for (const auto &step : program.once)
      SMELT_RETURN_IF_ERROR(verifyOnce(*step));
    SMELT_RETURN_IF_ERROR(verifySteps(program.once));
    reached.clear(); // what runs once does not write the caller's memory
    SMELT_RETURN_IF_ERROR(verifySteps(program.steps));
    return verifyOutputs();
  }

private:
  bool isDim(uint32_t index) const { return index < metadata.dims.size(); }
  bool isDimOrNone(uint32_t index) const { return index == plan::kNone || isDim(index); }

  // --- Buffers ---

  Status verifyBuffers() const {
    if (program.arena_slots > program.buffers.size())
      return invalid("there are ", program.arena_slots, " arena slots for ", program.buffers.size(),
                     " buffers");
    for (size_t i = 0; i < program.buffers.size(); ++i) {
      const plan::BufferT &buffer = *program.buffers[i];
      if (!isKnown(buffer.kind) || buffer.index >= countOf(buffer.kind))
        return invalid("buffer ", i, " refers to something that is not there");
      bool hasSize =
          buffer.kind == plan::BufferKind::arena || buffer.kind == plan::BufferKind::shape;
      if (hasSize && !isDim(buffer.size_bytes))
        return invalid("arena buffer ", i, " has no size");
    }
    return {};
  }

  size_t countOf(plan::BufferKind kind) const {
    switch (kind) {
    case plan::BufferKind::input:
      return metadata.inputs.size();
    case plan::BufferKind::output:
      return metadata.outputs.size();
    case plan::BufferKind::weight:
      return metadata.weights.size();
    case plan::BufferKind::arena:
      return program.arena_slots;
    case plan::BufferKind::shape:
      return 1;
    }
    return 0;
  }

  /// Whether memory at the place exists; notes that some launch takes it.
  bool isPlace(uint32_t buffer, uint32_t offset) {
    if (buffer >= program.buffers.size() || !isDimOrNone(offset))
      return false;
    reached.insert(buffer);
    return true;
  }

  /// A caller must never be given memory that no launch has seen.
  Status verifyOutputs() const {
    std::set<uint32_t> outputs;
    for (uint32_t buffer : reached)
      if (program.buffers[buffer]->kind == plan::BufferKind::output)
        outputs.insert(program.buffers[buffer]->index);
    for (size_t i = 0; i < metadata.outputs.size(); ++i)
      if (!outputs.contains(static_cast<uint32_t>(i)))
        return invalid("no launch writes the output '", metadata.outputs[i]->name, "'");
    return {};
  }

  // --- Steps ---

  /// What runs when a shape is prepared cannot use the caller's memory, which may not be bound yet
  /// and may move.
  Status verifyOnce(const plan::StepT &step) {
    reached.clear();
    for (const auto &variant : step.variants)
      for (size_t i = 0; i < variant->launches.size(); ++i)
        SMELT_RETURN_IF_ERROR(verifyLaunch(i, *variant->launches[i]));
    for (uint32_t buffer : reached)
      if (program.buffers[buffer]->kind == plan::BufferKind::input ||
          program.buffers[buffer]->kind == plan::BufferKind::output)
        return invalid("a launch that runs once takes an input or output of the model");
    return {};
  }

  Status verifySteps(const std::vector<std::unique_ptr<plan::StepT>> &steps) {
    size_t launch = 0;
    for (size_t i = 0; i < steps.size(); ++i) {
      SMELT_RETURN_IF_ERROR(verifyDependencies(i, *steps[i]));
      if (steps[i]->variants.empty())
        return invalid("step ", i, " has no variant");
      for (const auto &variant : steps[i]->variants) {
        if (variant->rule && !isDim(variant->rule->value))
          return invalid("a rule of step ", i, " refers to dims that are not there");
        if (variant->launches.empty())
          return invalid("a variant of step ", i, " launches nothing");
        for (const auto &held : variant->launches)
          SMELT_RETURN_IF_ERROR(verifyLaunch(launch++, *held));
      }
    }
    return {};
  }

  Status verifyDependencies(size_t index, const plan::StepT &step) const {
    for (uint32_t earlier : step.depends_on)
      if (earlier >= index)
        return invalid("step ", index, " depends on step ", earlier,
                       ", which does not come before it");
    if (std::set(step.depends_on.begin(), step.depends_on.end()).size() != step.depends_on.size())
      return invalid("step ", index, " names a dependency twice");
    return {};
  }

  // --- Launches ---

  Status verifyLaunch(size_t index, const plan::LaunchT &launch) {
    if (!isDimOrNone(launch.bytes) || !isDimOrNone(launch.flops))
      return invalid("launch ", index, " refers to dims that are not there");
    if (const plan::KernelNodeT *kernel = launch.node.AsKernelNode())
      return verifyKernel(index, *kernel);
    if (const plan::CopyNodeT *copy = launch.node.AsCopyNode()) {
      bool isWhole = isPlace(copy->target.buffer(), copy->target.offset()) &&
                     isPlace(copy->source.buffer(), copy->source.offset()) &&
                     isDim(copy->size_bytes);
      return isWhole ? Status() : notThere(index, "copy");
    }
    if (const plan::SetNodeT *set = launch.node.AsSetNode()) {
      bool isWhole = isPlace(set->target.buffer(), set->target.offset()) && isDim(set->size_bytes);
      return isWhole ? Status() : notThere(index, "set");
    }
    return invalid("launch ", index, " is of an unknown kind");
  }

  static Status notThere(size_t index, const char *what) {
    return invalid("the ", what, " of launch ", index, " refers to something that is not there");
  }

  Status verifyKernel(size_t index, const plan::KernelNodeT &kernel) {
    if (kernel.kernel >= program.kernels.size())
      return invalid("launch ", index, " refers to kernel ", kernel.kernel, " of ",
                     program.kernels.size());
    if (!isDim(kernel.grid.x()) || !isDim(kernel.grid.y()) || !isDim(kernel.grid.z()))
      return invalid("launch ", index, " refers to dims that are not there");
    if (!isExtent(kernel.block, kMaxThreadsPerBlock))
      return invalid("launch ", index, " has a block of 0 or more than ", kMaxThreadsPerBlock,
                     " threads");
    const plan::Extent3 &cluster = kernel.cluster;
    bool noCluster = cluster.x() == 0 && cluster.y() == 0 && cluster.z() == 0;
    if (!noCluster && !isExtent(cluster, kMaxClusterBlocks))
      return invalid("launch ", index, " has a cluster of 0 or more than ", kMaxClusterBlocks,
                     " blocks");
    for (size_t i = 0; i < kernel.tensor_maps.size(); ++i)
      SMELT_RETURN_IF_ERROR(verifyTensorMap(index, i, *kernel.tensor_maps[i]));
    return verifyArguments(index, kernel);
  }

  Status verifyArguments(size_t index, const plan::KernelNodeT &kernel) {
    uint64_t parameterBytes = 0;
    for (size_t i = 0; i < kernel.arguments.size(); ++i) {
      const plan::Argument &argument = kernel.arguments[i];
      if (!isKnown(argument.kind()) || !isArgument(kernel, argument))
        return invalid("argument ", i, " of launch ", index,
                       " refers to something that is not there");
      parameterBytes += parameterRoom(argument);
    }
    if (parameterBytes > kMaxParameterBytes)
      return invalid("launch ", index, " has ", parameterBytes, " bytes of parameters");
    return {};
  }

  bool isArgument(const plan::KernelNodeT &kernel, const plan::Argument &argument) {
    switch (argument.kind()) {
    case plan::ArgumentKind::pointer:
      return isPlace(argument.index(), argument.detail());
    case plan::ArgumentKind::size32:
    case plan::ArgumentKind::size64:
      return isDim(argument.index());
    case plan::ArgumentKind::bytes:
      return argument.detail() > 0 &&
             liesWithin(argument.index(), argument.detail(), kernel.constants.size());
    case plan::ArgumentKind::tensor_map:
      return argument.index() < kernel.tensor_maps.size();
    }
    return false;
  }

  static uint64_t parameterRoom(const plan::Argument &argument) {
    switch (argument.kind()) {
    case plan::ArgumentKind::size32:
      return 4;
    case plan::ArgumentKind::pointer:
    case plan::ArgumentKind::size64:
      return 8;
    case plan::ArgumentKind::bytes:
      return argument.detail();
    case plan::ArgumentKind::tensor_map:
      return kTensorMapRoom;
    }
    return 0;
  }

  /// What sizes have to do with is checked when they are known.
  Status verifyTensorMap(size_t launch, size_t index, const plan::TensorMapT &map) {
    size_t rank = map.sizes.size();
    auto areDims = [this](const std::vector<uint32_t> &dims) {
      return std::all_of(dims.begin(), dims.end(), [this](uint32_t dim) { return isDim(dim); });
    };
    auto areWithin = [](const std::vector<uint32_t> &values, uint32_t most) {
      return std::all_of(values.begin(), values.end(),
                         [most](uint32_t value) { return value >= 1 && value <= most; });
    };
    if (!isPlace(map.buffer, map.offset) || !areDims(map.sizes) || !areDims(map.byte_strides))
      return invalid("tensor map ", index, " of launch ", launch,
                     " refers to something that is not there");
    bool hasShape = map.windows ? map.box.empty() && areWindows(*map.windows, rank)
                                : map.box.size() == rank && areWithin(map.box, kMaxTensorMapBox);
    if (rank < 1 || rank > kMaxTensorMapRank || map.byte_strides.size() + 1 != rank ||
        map.element_strides.size() != rank || !hasShape ||
        !areWithin(map.element_strides, kMaxTensorMapStep) || !isKnown(map.element_type) ||
        !isKnown(map.interleave) || !isKnown(map.swizzle) || !isKnown(map.l2_promotion))
      return invalid("tensor map ", index, " of launch ", launch, " makes no sense");
    return {};
  }

  /// Of tensors of three to five axes: the more there are, the fewer bits a corner has.
  static bool areWindows(const plan::PixelWindowsT &windows, size_t rank) {
    if (rank < 3 || rank > kMaxTensorMapRank)
      return false;
    int32_t reach = rank == 3 ? 1 << 15 : rank == 4 ? 1 << 7 : 1 << 4;
    auto areCorners = [&](const std::vector<int32_t> &corners) {
      return corners.size() + 2 == rank &&
             std::all_of(corners.begin(), corners.end(),
                         [&](int32_t corner) { return corner >= -reach && corner < reach; });
    };
    return windows.channels >= 1 && windows.channels <= kMaxWindowChannels && windows.pixels >= 1 &&
           windows.pixels <= kMaxWindowPixels && areCorners(windows.lower_corner) &&
           areCorners(windows.upper_corner);
  }

  const plan::MetadataT &metadata;
  const plan::ProgramT &program;
  const SectionSizes &sections;
  std::set<uint32_t> reached; // buffers that the launches looked at so far take
};

} // namespace

Status verifyProgram(const plan::MetadataT &metadata, const plan::ProgramT &program,
                     const SectionSizes &sections) {
  return ProgramVerifier(metadata, program, sections).verify();
}

} // namespace smelt
