// smelt_context_*_dlpack: tensors of other libraries in, outputs of Smelt out.
#include "runtime/c_api.h"

#include "runtime/checked_math.h"
#include "runtime/dlpack.h"

#include <algorithm>

using smelt::Result;
using smelt::Status;
using smelt::StatusCode;
using smelt::api::guarded;
using smelt::api::loggedAs;
using smelt::api::required;
using smelt::dlpack::View;
using smelt::runtime::Binding;
using smelt::runtime::Context;
using smelt::runtime::DeviceMemory;
using smelt::runtime::Location;
using smelt::runtime::Shape;
namespace dlpack = smelt::dlpack;
namespace plan = smelt::plan;

namespace {

using SharedTensor = std::shared_ptr<DLManagedTensorVersioned>;

struct CallDeleter {
  void operator()(DLManagedTensorVersioned *tensor) const noexcept {
    if (tensor->deleter == nullptr)
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

Result<View> readTensor(const Context &context, bool isInput, const char *name,
                        const DLManagedTensorVersioned &tensor) {
  if (tensor.version.major != dlpack::kVersion.major)
    return Status(StatusCode::kUsage,
                  smelt::joinText("the tensor is of DLPack's version ", tensor.version.major, ".",
                                  tensor.version.minor, ", which Smelt cannot read; give one of ",
                                  dlpack::kVersion.major, ".x"));
  if (!isInput && (tensor.flags & dlpack::kReadOnly) != 0)
    return Status(StatusCode::kUsage,
                  "the tensor is read-only, and runs write outputs; give one that may be written");
  SMELT_ASSIGN_OR_RETURN(View view,
                         dlpack::view(tensor.dl_tensor, tensor.flags,
                                      growingAxis(context.engine().metadata(), isInput, name)));
  int device = context.engine().device()->ordinal();
  if (view.isOnOneDevice && view.device != device)
    return Status(StatusCode::kUsage,
                  smelt::joinText("the tensor lies on CUDA device ", view.device,
                                  ", the engine uses device ", device,
                                  "; copy it there, or make an engine for its device"));
  return view;
}

Status bindTensor(Context &context, bool isInput, const char *name, SharedTensor tensor) {
  Result<View> read = readTensor(context, isInput, name, *tensor);
  SMELT_RETURN_IF_ERROR(
      read.status().within(smelt::joinText(isInput ? "input '" : "output '", name, "'")));
  Binding binding;
  binding.elementType = static_cast<plan::ElementType>(read->elementType);
  binding.location = read->location == SMELT_HOST ? Location::kHost : Location::kDevice;
  binding.data = read->data;
  binding.bytes = read->bytes;
  binding.capacity = read->capacity;
  binding.owner = std::move(tensor);
  if (isInput) {
    SMELT_RETURN_IF_ERROR(context.bindInput(name, binding));
    return context.setInputShape(name, read->shape);
  }
  binding.shape = read->shape;
  return context.bindOutput(name, binding);
}

/// The tensor is this function's from its first line on.
smelt_code bind(smelt_context *context, bool isInput, const char *name,
                DLManagedTensorVersioned *tensor, smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(tensor, "tensor"));
    SharedTensor kept(tensor, CallDeleter());
    SMELT_RETURN_IF_ERROR(required(context, "context", name, "name"));
    Context &used = *context->context;
    return loggedAs(used.logger(), bindTensor(used, isInput, name, std::move(kept)));
  });
}

// --- Out ---

/// What a tensor that is given out points to.
struct GivenTensor {
  DLManagedTensorVersioned managed = {};
  Shape shape, strides;
  std::shared_ptr<const DeviceMemory> memory;
};

/// Of a name that is an output's.
plan::ElementType elementTypeOf(const Context &context, const std::string &name) {
  const auto &outputs = context.engine().metadata().outputs;
  auto isNamed = [&](const auto &output) { return output->name == name; };
  return (*std::find_if(outputs.begin(), outputs.end(), isNamed))->element_type;
}

Result<int64_t> bytesOf(const Shape &shape, plan::ElementType type) {
  std::optional<int64_t> bytes = plan::elementBytes(type);
  for (int64_t extent : shape)
    bytes = bytes ? smelt::checkedMul(*bytes, extent) : std::nullopt;
  if (!bytes)
    return Status(StatusCode::kUsage,
                  smelt::joinText("an output of shape ", smelt::shapeText(shape), " is too large"));
  return *bytes;
}

Shape rowMajorStrides(const Shape &shape) {
  Shape strides(shape.size(), 1);
  for (size_t axis = shape.size(); axis-- > 1;)
    strides[axis - 1] = strides[axis] * std::max<int64_t>(shape[axis], 1);
  return strides;
}

void describe(GivenTensor &tensor, plan::ElementType type, int device, void *data) {
  DLManagedTensorVersioned &managed = tensor.managed;
  DLDataType named = dlpack::typeOf(static_cast<smelt_element_type>(type));
  managed.version = dlpack::kVersion;
  managed.manager_ctx = &tensor;
  managed.deleter = [](DLManagedTensorVersioned *self) {
    delete static_cast<GivenTensor *>(self->manager_ctx);
  };
  managed.flags = named.bits < 8 ? dlpack::kSubBytePadded : 0;
  managed.dl_tensor = {data,  {dlpack::kCuda, device}, static_cast<int32_t>(tensor.shape.size()),
                       named, tensor.shape.data(),     tensor.strides.data(),
                       0};
}

Result<std::shared_ptr<const DeviceMemory>> allocate(const smelt::runtime::Engine &engine,
                                                     int64_t bytes) {
  SMELT_ASSIGN_OR_RETURN(auto current, smelt::runtime::CurrentContext::enter(*engine.device()));
  smelt::runtime::RelaxedCapture relaxed(engine.api());
  SMELT_ASSIGN_OR_RETURN(DeviceMemory memory,
                         DeviceMemory::allocate(engine.device(), engine.allocator(),
                                                static_cast<uint64_t>(std::max<int64_t>(bytes, 1)),
                                                "an output"));
  return std::make_shared<const DeviceMemory>(std::move(memory));
}

Result<std::unique_ptr<GivenTensor>> allocateOutput(Context &context, const char *name) {
  auto given = std::make_unique<GivenTensor>();
  SMELT_ASSIGN_OR_RETURN(given->shape, context.outputShape(name));
  plan::ElementType type = elementTypeOf(context, name);
  SMELT_ASSIGN_OR_RETURN(int64_t bytes, bytesOf(given->shape, type));
  SMELT_ASSIGN_OR_RETURN(given->memory, allocate(context.engine(), bytes));
  Binding binding;
  binding.elementType = type;
  binding.data = reinterpret_cast<void *>(given->memory->address());
  binding.bytes = static_cast<uint64_t>(bytes);
  binding.shape = given->shape;
  binding.owner = given->memory;
  given->strides = rowMajorStrides(given->shape);
  describe(*given, type, context.engine().device()->ordinal(),
           bytes > 0 ? binding.data : nullptr); // as DLPack asks for
  SMELT_RETURN_IF_ERROR(context.bindOutput(name, binding));
  return given;
}

} // namespace

smelt_code smelt_context_bind_input_dlpack(smelt_context *context, const char *name,
                                           DLManagedTensorVersioned *tensor, smelt_error *error) {
  return bind(context, true, name, tensor, error);
}

smelt_code smelt_context_bind_output_dlpack(smelt_context *context, const char *name,
                                            DLManagedTensorVersioned *tensor, smelt_error *error) {
  return bind(context, false, name, tensor, error);
}

smelt_code smelt_context_allocate_output_dlpack(smelt_context *context, const char *name,
                                                DLManagedTensorVersioned **tensor,
                                                smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(context, "context", name, "name", tensor, "tensor"));
    Result<std::unique_ptr<GivenTensor>> given = allocateOutput(*context->context, name);
    SMELT_RETURN_IF_ERROR(loggedAs(context->context->logger(), given.status()));
    *tensor = &(*given).release()->managed;
    return {};
  });
}
