#include "runtime/verify_metadata.h"

#include "runtime/checked_math.h"
#include "runtime/verify_initializers.h"
#include "runtime/verify_program.h"
#include "runtime/verify_shared.h"

#include <algorithm>
#include <set>

namespace smelt {

namespace {

constexpr size_t kMaxDimInstructions = 4096;

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
    SMELT_RETURN_IF_ERROR(verifyAliases());
    SMELT_RETURN_IF_ERROR(verifySymbols());
    SMELT_RETURN_IF_ERROR(verifyGuards());
    SMELT_RETURN_IF_ERROR(verifyWeights());
    SMELT_RETURN_IF_ERROR(verifyIr());
    SMELT_RETURN_IF_ERROR(verifyInitializers(metadata));
    if (metadata.programs.empty())
      return invalid("it holds no program");
    for (const auto &program : metadata.programs)
      SMELT_RETURN_IF_ERROR(
          verifyProgram(metadata, *program, sections).within("program " + program->arch));
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

  /// An output takes over an input of its type and rank, and no two take over the same.
  Status verifyAliases() const {
    for (const auto &input : metadata.inputs)
      if (input->alias != plan::kNone || input->capacity != plan::kNone)
        return invalid("input '", input->name, "' takes over the memory of something");
    std::set<uint32_t> taken;
    for (const auto &output : metadata.outputs) {
      if (output->alias == plan::kNone && output->capacity == plan::kNone)
        continue;
      if (output->alias >= metadata.inputs.size() || !taken.insert(output->alias).second ||
          metadata.inputs[output->alias]->element_type != output->element_type ||
          metadata.inputs[output->alias]->dims.size() != output->dims.size())
        return invalid("output '", output->name, "' cannot take over the memory of input ",
                       output->alias);
      if (output->capacity != plan::kNone && (output->capacity >= metadata.symbols.size() ||
                                              output->capacity_axis >= output->dims.size()))
        return invalid("output '", output->name, "' has a capacity of symbol ", output->capacity,
                       " along axis ", output->capacity_axis);
    }
    return {};
  }

  /// Inputs define the symbols of sizes, outputs those of capacities, and none is both. An output
  /// gives its capacity a value by its own extent, which must not depend on capacities.
  Status verifySymbols() const {
    std::set<int64_t> defined, capacities;
    for (const auto &input : metadata.inputs)
      for (uint32_t dim : input->dims) {
        const auto &program = metadata.dims[dim]->program;
        if (program.size() == 1 && program[0].opcode() == plan::DimOpcode::symbol)
          defined.insert(program[0].operand());
      }
    for (const auto &output : metadata.outputs)
      if (output->capacity != plan::kNone)
        capacities.insert(output->capacity);
    for (int64_t capacity : capacities)
      if (!defined.insert(capacity).second)
        return invalid("the capacity '", metadata.symbols[static_cast<size_t>(capacity)],
                       "' is the size of an input's axis, too");
    for (const auto *tensors : {&metadata.inputs, &metadata.outputs})
      for (const auto &tensor : *tensors)
        for (uint32_t dim : tensor->dims)
          for (const plan::DimInstruction &instruction : metadata.dims[dim]->program)
            if (instruction.opcode() == plan::DimOpcode::symbol &&
                capacities.contains(instruction.operand()))
              return invalid("the shape of '", tensor->name, "' depends on a capacity");
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

  Status verifyIr() const {
    bool lies = liesWithin(metadata.ir.offset(), metadata.ir.size(), sections.sources);
    return lies ? Status() : invalid("the IR lies outside the sources section");
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
  constexpr std::string_view kCubin = "sm_", kPtx = "compute_";
  architecture.isPtx = rest.starts_with(kPtx);
  if (architecture.isPtx || rest.starts_with(kCubin))
    rest.remove_prefix(architecture.isPtx ? kPtx.size() : kCubin.size());
  else
    rest = {};
  if (rest.ends_with('a') && !architecture.isPtx) {
    architecture.specific = true;
    rest.remove_suffix(1);
  }
  auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
  if (rest.size() < 2 || rest.size() > 4 || !std::all_of(rest.begin(), rest.end(), isDigit))
    return invalid("'", name, "' is not an architecture such as sm_90a or compute_80");
  for (char digit : rest)
    architecture.number = architecture.number * 10 + (digit - '0');
  return architecture;
}

} // namespace smelt
