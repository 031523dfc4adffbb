#include "runtime/verify_metadata.h"

#include "runtime/checked_math.h"
#include "runtime/text.h"

#include <algorithm>
#include <set>

namespace smelt {

namespace {

constexpr size_t kMaxDimInstructions = 4096;
constexpr uint64_t kMaxThreadsPerBlock = 1024;
constexpr uint64_t kMaxClusterBlocks = 16;
constexpr uint64_t kMaxParameterBytes = 32764;

template <typename... Pieces> Status invalid(const Pieces &...pieces) {
  return Status(StatusCode::kPlan, joinText("the plan's metadata is inconsistent: ", pieces...));
}

template <typename Enum> bool isKnown(Enum value) {
  return value >= Enum::MIN && value <= Enum::MAX;
}

/// What one DimInstruction does to the stack: pops, then pushes one value.
size_t poppedBy(plan::DimOpcode opcode) {
  return opcode == plan::DimOpcode::constant || opcode == plan::DimOpcode::symbol ? 0 : 2;
}

class MetadataVerifier {
public:
  MetadataVerifier(const plan::MetadataT &metadata, const SectionSizes &sections)
      : metadata(metadata), sections(sections) {}

  Status verify() const {
    SMELT_RETURN_IF_ERROR(verifyDims());
    SMELT_RETURN_IF_ERROR(verifyTensors("input", metadata.inputs));
    SMELT_RETURN_IF_ERROR(verifyTensors("output", metadata.outputs));
    SMELT_RETURN_IF_ERROR(verifySymbols());
    SMELT_RETURN_IF_ERROR(verifyGuards());
    SMELT_RETURN_IF_ERROR(verifyWeights());
    if (metadata.programs.empty())
      return invalid("it holds no program");
    for (const auto &program : metadata.programs)
      SMELT_RETURN_IF_ERROR(verifyProgram(*program).within("program " + program->arch));
    return {};
  }

private:
  Status verifyDims() const {
    for (size_t i = 0; i < metadata.dims.size(); ++i)
      SMELT_RETURN_IF_ERROR(verifyDim(i, metadata.dims[i]->program));
    return {};
  }

  Status verifyDim(size_t index, const std::vector<plan::DimInstruction> &program) const {
    if (program.size() > kMaxDimInstructions)
      return invalid("dim ", index, " has ", program.size(), " instructions");
    size_t depth = 0;
    for (const plan::DimInstruction &instruction : program) {
      if (!isKnown(instruction.opcode()))
        return invalid("dim ", index, " has an unknown instruction");
      if (instruction.opcode() == plan::DimOpcode::symbol &&
          (instruction.operand() < 0 ||
           static_cast<uint64_t>(instruction.operand()) >= metadata.symbols.size()))
        return invalid("dim ", index, " refers to symbol ", instruction.operand(), " of ",
                       metadata.symbols.size());
      size_t popped = poppedBy(instruction.opcode());
      if (depth < popped)
        return invalid("dim ", index, " takes more values than it has");
      depth = depth - popped + 1;
      if (depth > plan::kMaxDimStack)
        return invalid("dim ", index, " is nested too deeply");
    }
    return depth == 1 ? Status() : invalid("dim ", index, " leaves ", depth, " values, not one");
  }

  bool isDim(uint32_t index) const { return index < metadata.dims.size(); }
  bool isDimOrNone(uint32_t index) const { return index == plan::kNone || isDim(index); }

  Status verifyTensors(const char *role,
                       const std::vector<std::unique_ptr<plan::TensorT>> &tensors) const {
    std::set<std::string_view> names;
    for (const auto &tensor : tensors) {
      if (tensor->name.empty() || !names.insert(tensor->name).second)
        return invalid("two ", role, "s are named '", tensor->name, "', or one has no name");
      if (!isKnown(tensor->element_type))
        return invalid(role, " '", tensor->name, "' has an unknown element type");
      for (uint32_t dim : tensor->dims)
        if (!isDim(dim))
          return invalid(role, " '", tensor->name, "' refers to dim ", dim, " of ",
                         metadata.dims.size());
    }
    return {};
  }

  Status verifySymbols() const {
    std::set<int64_t> defined;
    for (const auto &input : metadata.inputs)
      for (uint32_t dim : input->dims) {
        const auto &program = metadata.dims[dim]->program;
        if (program.size() == 1 && program[0].opcode() == plan::DimOpcode::symbol)
          defined.insert(program[0].operand());
      }
    for (size_t i = 0; i < metadata.symbols.size(); ++i)
      if (!defined.contains(static_cast<int64_t>(i)))
        return invalid("no input dimension defines the symbol '", metadata.symbols[i], "'");
    return {};
  }

  Status verifyGuards() const {
    for (const auto &guard : metadata.guards)
      if (!isDim(guard->left) || !isDim(guard->right) || !isKnown(guard->relation))
        return invalid("the guard '", guard->message, "' refers to dims that are not there");
    return {};
  }

  Status verifyWeights() const {
    for (const auto &weight : metadata.weights) {
      if (!liesWithin(weight->data.offset(), weight->data.size(), sections.weights))
        return invalid("weight '", weight->name, "' lies outside the weights section");
      if (weight->data.offset() % plan::kWeightBytes != 0)
        return invalid("weight '", weight->name, "' is not aligned to ", plan::kWeightBytes,
                       " bytes");
    }
    return {};
  }

  Status verifyProgram(const plan::ProgramT &program) const {
    Result<Architecture> architecture = parseArchitecture(program.arch);
    if (!architecture.isOk())
      return architecture.status();
    for (const auto &module : program.modules)
      if (!liesWithin(module->cubin.offset(), module->cubin.size(), sections.cubins) ||
          !liesWithin(module->source.offset(), module->source.size(), sections.sources))
        return invalid("module '", module->name, "' lies outside its section");
    for (const auto &kernel : program.kernels)
      if (kernel->entry.empty() || kernel->module_index >= program.modules.size())
        return invalid("kernel '", kernel->entry, "' refers to module ", kernel->module_index,
                       " of ", program.modules.size());
    SMELT_RETURN_IF_ERROR(verifyBuffers(program));
    for (size_t i = 0; i < program.launches.size(); ++i)
      SMELT_RETURN_IF_ERROR(verifyLaunch(program, i, *program.launches[i]));
    return verifyOutputs(program);
  }

  /// A caller must never be given memory that no launch has seen.
  Status verifyOutputs(const plan::ProgramT &program) const {
    std::set<uint32_t> reached; // outputs that some launch takes
    for (const auto &launch : program.launches)
      for (const plan::Argument &argument : launch->arguments)
        if (argument.kind() == plan::ArgumentKind::pointer)
          if (const plan::BufferT &buffer = *program.buffers[argument.index()];
              buffer.kind == plan::BufferKind::output)
            reached.insert(buffer.index);
    for (size_t i = 0; i < metadata.outputs.size(); ++i)
      if (!reached.contains(static_cast<uint32_t>(i)))
        return invalid("no launch writes the output '", metadata.outputs[i]->name, "'");
    return {};
  }

  Status verifyBuffers(const plan::ProgramT &program) const {
    if (program.arena_slots > program.buffers.size())
      return invalid("there are ", program.arena_slots, " arena slots for ", program.buffers.size(),
                     " buffers");
    for (size_t i = 0; i < program.buffers.size(); ++i) {
      const plan::BufferT &buffer = *program.buffers[i];
      if (!isKnown(buffer.kind) || buffer.index >= countOf(buffer.kind, program))
        return invalid("buffer ", i, " refers to something that is not there");
      if (buffer.kind == plan::BufferKind::arena && !isDim(buffer.size_bytes))
        return invalid("arena buffer ", i, " has no size");
    }
    return {};
  }

  size_t countOf(plan::BufferKind kind, const plan::ProgramT &program) const {
    switch (kind) {
    case plan::BufferKind::input:
      return metadata.inputs.size();
    case plan::BufferKind::output:
      return metadata.outputs.size();
    case plan::BufferKind::weight:
      return metadata.weights.size();
    case plan::BufferKind::arena:
      return program.arena_slots;
    }
    return 0;
  }

  Status verifyLaunch(const plan::ProgramT &program, size_t index,
                      const plan::LaunchT &launch) const {
    if (launch.kernel >= program.kernels.size())
      return invalid("launch ", index, " refers to kernel ", launch.kernel, " of ",
                     program.kernels.size());
    if (!isDim(launch.grid.x()) || !isDim(launch.grid.y()) || !isDim(launch.grid.z()) ||
        !isDimOrNone(launch.bytes) || !isDimOrNone(launch.flops))
      return invalid("launch ", index, " refers to dims that are not there");
    if (!isExtent(launch.block, kMaxThreadsPerBlock))
      return invalid("launch ", index, " has a block of 0 or more than ", kMaxThreadsPerBlock,
                     " threads");
    const plan::Extent3 &cluster = launch.cluster;
    bool noCluster = cluster.x() == 0 && cluster.y() == 0 && cluster.z() == 0;
    if (!noCluster && !isExtent(cluster, kMaxClusterBlocks))
      return invalid("launch ", index, " has a cluster of 0 or more than ", kMaxClusterBlocks,
                     " blocks");
    for (uint32_t earlier : launch.depends_on)
      if (earlier >= index)
        return invalid("launch ", index, " depends on launch ", earlier,
                       ", which does not come before it");
    if (std::set(launch.depends_on.begin(), launch.depends_on.end()).size() !=
        launch.depends_on.size())
      return invalid("launch ", index, " names a dependency twice");
    return verifyArguments(program, index, launch);
  }

  static bool isExtent(const plan::Extent3 &extent, uint64_t most) {
    return extent.x() >= 1 && extent.y() >= 1 && extent.z() >= 1 && extent.x() <= most &&
           extent.y() <= most && extent.z() <= most &&
           uint64_t(extent.x()) * extent.y() * extent.z() <= most;
  }

  Status verifyArguments(const plan::ProgramT &program, size_t index,
                         const plan::LaunchT &launch) const {
    uint64_t parameterBytes = 0;
    for (size_t i = 0; i < launch.arguments.size(); ++i) {
      const plan::Argument &argument = launch.arguments[i];
      bool isPointer = argument.kind() == plan::ArgumentKind::pointer;
      if (!isKnown(argument.kind()) ||
          (isPointer ? argument.index() >= program.buffers.size() : !isDim(argument.index())))
        return invalid("argument ", i, " of launch ", index,
                       " refers to something that is not there");
      parameterBytes += argument.kind() == plan::ArgumentKind::size32 ? 4 : 8;
    }
    if (parameterBytes > kMaxParameterBytes)
      return invalid("launch ", index, " has ", parameterBytes, " bytes of parameters");
    return {};
  }

  const plan::MetadataT &metadata;
  const SectionSizes &sections;
};

} // namespace

Status verifyMetadata(const plan::MetadataT &metadata, const SectionSizes &sections) {
  return MetadataVerifier(metadata, sections).verify();
}

Result<Architecture> parseArchitecture(const std::string &name) {
  Architecture architecture;
  std::string_view rest = name;
  if (rest.starts_with("sm_"))
    rest.remove_prefix(3);
  else
    rest = {};
  if (rest.ends_with('a')) {
    architecture.specific = true;
    rest.remove_suffix(1);
  }
  auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
  if (rest.size() < 2 || rest.size() > 4 || !std::all_of(rest.begin(), rest.end(), isDigit))
    return invalid("'", name, "' is not an architecture such as sm_90a");
  for (char digit : rest)
    architecture.number = architecture.number * 10 + (digit - '0');
  return architecture;
}

} // namespace smelt
