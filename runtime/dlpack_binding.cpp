#include "runtime/dlpack_binding.h"

#include "runtime/checked_math.h"
#include "runtime/text.h"

#include <algorithm>

namespace smelt::dlpack {

using runtime::Binding;
using runtime::Location;
using runtime::Shape;

namespace {

struct CallDeleter {
  void operator()(DLManagedTensorVersioned *tensor) const noexcept {
    if (tensor == nullptr || tensor->deleter == nullptr)
      return;
    try {
      tensor->deleter(tensor);
    } catch (...) {
      return; // releases run in destructors and have nobody to report to
    }
  }
};

/// The axis along which the tensor may lie in memory with room for more; -1: none, or no such tensor.
int64_t growingAxis(const plan::MetadataT &metadata, bool isInput, const std::string &name) {
  for (const auto &output : metadata.outputs) {
    if (output->capacity == plan::kNone)
      continue;
    const plan::TensorT &tensor = isInput ? *metadata.inputs[output->alias] : *output;
    if (tensor.name == name)
      return output->capacity_axis;
  }
  return -1;
}

Status checkDevice(const View &view, DLDevice device) {
  if (!view.isOnOneDevice || (device.device_type == kCuda && view.device == device.device_id))
    return {};
  std::string where = device.device_type == kCpu
                          ? "the engine runs on the CPU; copy it to the host"
                          : joinText("the engine uses device ", device.device_id,
                                     "; copy it there, or make an engine for its device");
  return Status(StatusCode::kUsage,
                joinText("the tensor lies on CUDA device ", view.device, ", ", where));
}

Result<View> readTensor(const plan::MetadataT &metadata, DLDevice device, bool isInput,
                        const char *name, const DLManagedTensorVersioned &tensor) {
  if (tensor.version.major != kVersion.major)
    return Status(StatusCode::kUsage,
                  joinText("the tensor is of DLPack's version ", tensor.version.major, ".",
                           tensor.version.minor, ", which Smelt cannot read; give one of ",
                           kVersion.major, ".x"));
  if (!isInput && (tensor.flags & kReadOnly) != 0)
    return Status(StatusCode::kUsage,
                  "the tensor is read-only, and runs write outputs; give one that may be written");
  SMELT_ASSIGN_OR_RETURN(View view, dlpack::view(tensor.dl_tensor, tensor.flags,
                                                 growingAxis(metadata, isInput, name)));
  SMELT_RETURN_IF_ERROR(checkDevice(view, device));
  return view;
}

/// Of a name that is an output's.
plan::ElementType elementTypeOf(const plan::MetadataT &metadata, const std::string &name) {
  auto isNamed = [&](const auto &output) { return output->name == name; };
  return (*std::find_if(metadata.outputs.begin(), metadata.outputs.end(), isNamed))->element_type;
}

Shape rowMajorStrides(const Shape &shape) {
  Shape strides(shape.size(), 1);
  for (size_t axis = shape.size(); axis-- > 1;)
    strides[axis - 1] = strides[axis] * std::max<int64_t>(shape[axis], 1);
  return strides;
}

bool isEmpty(const Shape &shape) { return std::find(shape.begin(), shape.end(), 0) != shape.end(); }

/// What a tensor that is given out points to.
struct GivenTensor {
  DLManagedTensorVersioned managed = {};
  Shape shape, strides;
  std::shared_ptr<const void> owner;
};

} // namespace

SharedTensor takeOver(DLManagedTensorVersioned *tensor) { return {tensor, CallDeleter()}; }

Result<BoundTensor> read(const plan::MetadataT &metadata, DLDevice device, bool isInput,
                         const char *name, SharedTensor tensor) {
  Result<View> view = readTensor(metadata, device, isInput, name, *tensor);
  SMELT_RETURN_IF_ERROR(
      view.status().within(joinText(isInput ? "input '" : "output '", name, "'")));
  Binding binding;
  binding.elementType = static_cast<plan::ElementType>(view->elementType);
  binding.location = view->location == SMELT_HOST ? Location::kHost : Location::kDevice;
  binding.data = view->data;
  binding.bytes = view->bytes;
  binding.capacity = view->capacity;
  binding.owner = std::move(tensor);
  if (!isInput)
    binding.shape = view->shape;
  return BoundTensor{std::move(binding), std::move(view->shape)};
}

Result<uint64_t> outputBytes(const plan::MetadataT &metadata, const std::string &name,
                             const Shape &shape) {
  std::optional<int64_t> bytes = plan::elementBytes(elementTypeOf(metadata, name));
  for (int64_t extent : shape)
    bytes = bytes ? checkedMul(*bytes, extent) : std::nullopt;
  if (!bytes)
    return Status(StatusCode::kUsage,
                  joinText("an output of shape ", shapeText(shape), " is too large"));
  return static_cast<uint64_t>(*bytes);
}

DLManagedTensorVersioned *giveOut(const plan::MetadataT &metadata, DLDevice device,
                                  const std::string &name, const Shape &shape, const Room &room) {
  auto given = std::make_unique<GivenTensor>();
  given->shape = shape;
  given->strides = rowMajorStrides(shape);
  given->owner = room.owner;
  DLDataType type = typeOf(static_cast<smelt_element_type>(elementTypeOf(metadata, name)));
  DLManagedTensorVersioned &managed = given->managed;
  managed.version = kVersion;
  managed.manager_ctx = given.get();
  managed.deleter = [](DLManagedTensorVersioned *self) {
    delete static_cast<GivenTensor *>(self->manager_ctx);
  };
  managed.flags = type.bits < 8 ? kSubBytePadded : 0;
  managed.dl_tensor = {isEmpty(shape) ? nullptr : room.data, // as DLPack asks for
                       device,
                       static_cast<int32_t>(shape.size()),
                       type,
                       given->shape.data(),
                       given->strides.data(),
                       0};
  return &given.release()->managed;
}

Binding bindingOf(const plan::MetadataT &metadata, const std::string &name, const Shape &shape,
                  const Room &room) {
  Binding binding;
  binding.elementType = elementTypeOf(metadata, name);
  binding.data = room.data;
  binding.bytes = *outputBytes(metadata, name, shape);
  binding.shape = shape;
  binding.owner = room.owner;
  return binding;
}

} // namespace smelt::dlpack
