#include "runtime/bindings.h"

#include "runtime/checked_math.h"
#include "runtime/text.h"

#include <algorithm>

namespace smelt::runtime {

Status checkWorkspace(const void *memory) {
  if (reinterpret_cast<uint64_t>(memory) % plan::kWeightBytes == 0)
    return {};
  return Status(StatusCode::kUsage,
                joinText("the workspace must be aligned to ", plan::kWeightBytes, " bytes"));
}

Bindings::Bindings(const plan::MetadataT &metadata, const UsedPorts &used)
    : metadata(metadata), inputs(metadata.inputs.size()), outputs(metadata.outputs.size()) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].tensor = metadata.inputs[i].get();
    inputs[i].isUsed = used.inputs[i];
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].tensor = metadata.outputs[i].get();
    outputs[i].isUsed = used.outputs[i];
  }
  pairAliases();
  presetStaticShapes();
}

/// Kernels may take the pair's memory under either name.
void Bindings::pairAliases() {
  for (Slot &output : outputs) {
    const plan::TensorT &tensor = *output.tensor;
    if (tensor.alias == plan::kNone)
      continue;
    Slot &input = inputs[tensor.alias];
    input.sharesOutput = true;
    output.partner = &input;
    input.partner = &output;
    output.isUsed = input.isUsed = true;
    output.grows = input.grows = tensor.capacity != plan::kNone;
    output.growingAxis = input.growingAxis = tensor.capacity_axis;
  }
}

void Bindings::presetStaticShapes() {
  for (Slot &input : inputs) {
    Shape shape;
    for (uint32_t dim : input.tensor->dims) {
      const auto &program = metadata.dims[dim]->program;
      if (program.size() == 1 && program[0].opcode() == plan::DimOpcode::constant)
        shape.push_back(program[0].operand());
    }
    input.hasShape = shape.size() == input.tensor->dims.size();
    input.shape = std::move(shape);
  }
}

static Result<Slot *> findSlot(std::vector<Slot> &slots, const char *role,
                               const std::string &name) {
  std::string known;
  for (Slot &slot : slots) {
    if (slot.tensor->name == name)
      return &slot;
    known += (known.empty() ? "'" : ", '") + slot.tensor->name + "'";
  }
  return Status(StatusCode::kUsage, joinText("the model has no ", role, " '", name, "'; its ", role,
                                             "s are ", known.empty() ? "none" : known));
}

Result<bool> Bindings::setShape(const std::string &name, const Shape &shape) {
  SMELT_ASSIGN_OR_RETURN(Slot * slot, findSlot(inputs, "input", name));
  if (slot->hasShape && slot->shape == shape)
    return false;
  slot->shape = shape;
  slot->hasShape = true;
  return true;
}

Result<Slot *> Bindings::output(const std::string &name) {
  return findSlot(outputs, "output", name);
}

Result<Bindings::Change> Bindings::bind(bool isInput, const std::string &name,
                                        const Binding &binding) {
  const char *role = isInput ? "input" : "output";
  SMELT_ASSIGN_OR_RETURN(Slot * slot, findSlot(isInput ? inputs : outputs, role, name));
  if (binding.elementType != slot->tensor->element_type)
    return Status(StatusCode::kUsage,
                  joinText(role, " '", name, "' has elements of type ",
                           plan::EnumNameElementType(slot->tensor->element_type), ", not ",
                           plan::EnumNameElementType(binding.elementType)));
  if (binding.data == nullptr && binding.bytes > 0)
    return Status(StatusCode::kUsage, joinText(role, " '", name, "' is bound to a null pointer"));
  if (binding.location == Location::kDevice &&
      reinterpret_cast<uint64_t>(binding.data) % kBindingAlignment != 0)
    return Status(StatusCode::kUsage,
                  joinText(role, " '", name, "' is bound to device memory that is not aligned to ",
                           kBindingAlignment, " bytes; copy the tensor to memory that is"));
  if (binding.capacity < 0 || (binding.capacity != 0 && !slot->grows))
    return Status(StatusCode::kUsage,
                  joinText(role, " '", name, "' is bound with a capacity of ", binding.capacity,
                           slot->grows ? "" : ", but the model does not let it grow in place"));
  Change change = Change::kMemory;
  if (binding.location == Location::kHost && slot->isUsed && !slot->staging && !slot->sharesOutput)
    change = Change::kStaging;
  if (slot->binding.capacity != binding.capacity)
    change = Change::kCapacity;
  if (slot->binding.owner)
    formerOwners.push_back(slot->binding.owner);
  slot->binding = binding;
  slot->isBound = true;
  return change;
}

std::vector<std::shared_ptr<const void>> Bindings::owners() const {
  std::vector<std::shared_ptr<const void>> owners;
  for (const auto *slots : {&inputs, &outputs})
    for (const Slot &slot : *slots)
      if (slot.binding.owner)
        owners.push_back(slot.binding.owner);
  return owners;
}

Status Bindings::layOut(const ShapeValues &values) {
  for (auto *slots : {&inputs, &outputs})
    for (Slot &slot : *slots) {
      SMELT_ASSIGN_OR_RETURN(
          slot.layout, layoutOf(*slot.tensor, values, slot.growingAxis, slot.binding.capacity));
    }
  return {};
}

Result<uint64_t> Bindings::placeCopies(uint64_t start, bool commit) {
  std::optional end(start);
  for (auto *slots : {&inputs, &outputs})
    for (Slot &slot : *slots) {
      if (commit)
        slot.staging.reset();
      bool isCopied = slot.isUsed && slot.isBound && slot.binding.location == Location::kHost;
      if (!end || !isCopied || slot.sharesOutput) // else it is copied to where the output lies
        continue;
      if (commit)
        slot.staging = end;
      end = checkedAdd(*end, slot.layout.bytes());
      end = end ? checkedAlign(*end, plan::kWeightBytes) : std::nullopt;
    }
  if (!end)
    return Status(StatusCode::kUsage, "these shapes are too large: the workspace exceeds 64 bits");
  return *end;
}

uint64_t Bindings::addressOf(const Slot &slot, uint64_t workspace) const {
  if (slot.sharesOutput)
    return addressOf(*slot.partner, workspace);
  if (!slot.isBound)
    return 0;
  if (slot.binding.location == Location::kHost)
    return slot.staging ? workspace + *slot.staging : 0;
  return reinterpret_cast<uint64_t>(slot.binding.data);
}

// --- Checks ---

Status Bindings::check(const ShapeValues &values, MemoryRange workspace) const {
  for (const Slot &slot : inputs)
    SMELT_RETURN_IF_ERROR(checkRoom("input", slot, values));
  for (const Slot &slot : outputs) {
    SMELT_RETURN_IF_ERROR(checkShape(slot, values));
    SMELT_RETURN_IF_ERROR(checkRoom("output", slot, values));
  }
  SMELT_RETURN_IF_ERROR(checkCapacities(values));
  for (const Slot &slot : outputs)
    SMELT_RETURN_IF_ERROR(checkInPlace(slot));
  return checkOverlaps(workspace);
}

Status Bindings::checkShape(const Slot &output, const ShapeValues &values) {
  const std::optional<Shape> &bound = output.binding.shape;
  Shape shape = shapeOf(*output.tensor, values);
  if (!bound || *bound == shape)
    return {};
  return Status(StatusCode::kUsage,
                joinText("output '", output.tensor->name, "' has shape ", shapeText(shape),
                         " for these inputs, and is bound to a tensor of shape ", shapeText(*bound),
                         "; bind one of its shape"));
}

Status Bindings::checkRoom(const char *role, const Slot &slot, const ShapeValues &values) {
  if (!slot.isUsed)
    return {};
  if (!slot.isBound)
    return Status(StatusCode::kUsage, joinText(role, " '", slot.tensor->name, "' is not bound"));
  if (slot.binding.bytes < slot.layout.bytes())
    return Status(StatusCode::kUsage,
                  joinText(role, " '", slot.tensor->name, "' of shape ",
                           shapeText(shapeOf(*slot.tensor, values)), " takes ", slot.layout.bytes(),
                           " bytes, the memory bound to it has ", slot.binding.bytes));
  return {};
}

/// Kernels lay out what an output takes over with the capacity that all of them share.
Status Bindings::checkCapacities(const ShapeValues &values) const {
  for (const Slot &slot : outputs) {
    const plan::TensorT &tensor = *slot.tensor;
    if (!slot.grows)
      continue;
    int64_t shared = values.symbols[tensor.capacity], own = slot.binding.capacity;
    if (own == 0)
      own = values.dims[tensor.dims[tensor.capacity_axis]];
    if (own != shared)
      return Status(StatusCode::kUsage,
                    joinText("output '", tensor.name, "' has a capacity of ", own, " along axis ",
                             tensor.capacity_axis, ", but others that grow with it have ", shared,
                             "; bind all of them with the same capacity"));
  }
  return {};
}

static bool isInPlace(const Slot &output) {
  const Slot *input = output.partner;
  return input != nullptr && input->isBound && output.isBound &&
         input->binding.location == Location::kDevice &&
         output.binding.location == Location::kDevice && input->binding.data == output.binding.data;
}

/// An output at the address of the input that it takes over finds the input's rows where it has its
/// own only where both are laid out alike.
Status Bindings::checkInPlace(const Slot &output) {
  if (!isInPlace(output))
    return {};
  const TensorLayout &from = output.partner->layout, &to = output.layout;
  if (from.rows <= 1 || from.pitch == to.pitch || from.rowBytes == 0)
    return {};
  return Status(StatusCode::kUsage,
                joinText("input '", output.partner->tensor->name,
                         "' is updated in place as output '", output.tensor->name,
                         "', but their rows lie ", from.pitch, " and ", to.pitch,
                         " bytes apart; bind both with the same capacity"));
}

namespace {

/// A piece of device memory that a run uses.
struct UsedMemory {
  MemoryRange range;
  bool isWritten;
  const Slot *slot;  ///< null: the workspace
  const Slot *owner; ///< memory of one owner may overlap
  const char *role;

  std::string describe() const {
    return slot != nullptr ? joinText(role, " '", slot->tensor->name, "'") : std::string(role);
  }
};

} // namespace

/// Nothing may be written where something else lies: launches run side by side, and start before
/// earlier ones have ended.
Status Bindings::checkOverlaps(MemoryRange workspace) const {
  std::vector<UsedMemory> all;
  auto add = [&](const Slot &slot, bool isWritten, const Slot *owner, const char *role) {
    bool isOnDevice = slot.isBound && slot.binding.location == Location::kDevice;
    uint64_t bytes =
        std::min(slot.layout.bytes(), slot.binding.bytes); // may be bound anew before a run
    if (!slot.isUsed || !isOnDevice || bytes == 0)
      return;
    auto begin = reinterpret_cast<uint64_t>(slot.binding.data);
    all.push_back({{begin, begin + bytes}, isWritten, &slot, owner, role});
  };
  for (const Slot &slot : inputs)
    add(slot, false, slot.sharesOutput && isInPlace(*slot.partner) ? slot.partner : &slot, "input");
  for (const Slot &slot : outputs)
    add(slot, true, &slot, "output");
  if (workspace.begin != workspace.end)
    all.push_back({workspace, true, nullptr, nullptr, "the workspace"});
  std::sort(all.begin(), all.end(),
            [](const UsedMemory &a, const UsedMemory &b) { return a.range.begin < b.range.begin; });
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t j = i + 1; j < all.size() && all[j].range.begin < all[i].range.end; ++j)
      if ((all[i].isWritten || all[j].isWritten) && all[i].owner != all[j].owner)
        return Status(StatusCode::kUsage,
                      joinText(all[i].describe(), " and ", all[j].describe(),
                               " overlap in device memory; bind them to memory of their own"));
  return {};
}

} // namespace smelt::runtime
