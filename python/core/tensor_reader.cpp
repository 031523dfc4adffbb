#include "python/core/tensor_reader.h"

#include "python/core/dlpack_exchange.h"
#include "python/core/errors.h"
#include "python/core/stream.h"

#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace smelt::dlpack {

const ExchangeTable *exchangeTableOf(nb::handle type) {
  nb::object capsule = nb::getattr(type, "__dlpack_c_exchange_api__", nb::none());
  if (!PyCapsule_CheckExact(capsule.ptr()))
    return nullptr;
  void *table = PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api");
  if (table == nullptr)
    PyErr_Clear();
  auto *header = static_cast<const ExchangeHeader *>(table);
  while (header != nullptr && header->version.major > 1)
    header = header->previous;
  if (header == nullptr || header->version.major != 1)
    return nullptr;
  return reinterpret_cast<const ExchangeTable *>(header);
}

} // namespace smelt::dlpack

namespace smelt::python {

namespace {

/// An output of a run, in device memory of Smelt's own.
TensorView viewOfOwn(const DeviceTensor &tensor, std::uintptr_t stream) {
  tensor.showTo(stream);
  std::size_t bytes = elementCount(tensor.shape) * smelt_element_bytes(tensor.elementType);
  return {tensor.elementType,
          tensor.shape,
          reinterpret_cast<std::uintptr_t>(tensor.memory->address()),
          bytes,
          SMELT_DEVICE,
          tensor.device,
          tensor.memory};
}

/// Of a PyTorch tensor that gradients are asked of: its __dlpack__ refuses it, its C functions do not.
bool isTracked(nb::handle value) {
  nb::object tracked = nb::getattr(value, "requires_grad", nb::none());
  return tracked.is(nb::handle(Py_True));
}

struct ReleaseManaged {
  void operator()(DLManagedTensorVersioned *tensor) const {
    if (tensor->deleter != nullptr)
      tensor->deleter(tensor);
  }
};

/// Whether work of the tensor's library that is under way comes before what `stream` gets next.
bool isReady(const dlpack::ExchangeTable &table, const DLTensor &tensor, std::uintptr_t stream) {
  int deviceType = tensor.device.device_type;
  if (deviceType != dlpack::kCuda && deviceType != dlpack::kCudaManaged)
    return true;
  void *current = nullptr;
  if (table.currentStream(deviceType, tensor.device.device_id, &current) != 0) {
    PyErr_Clear();
    return false;
  }
  return isSameStream(reinterpret_cast<std::uintptr_t>(current), stream);
}

/// "input 'x'", for messages.
std::string describe(const char *role, nb::handle name) {
  return std::string(role) + " '" + nb::cast<std::string>(nb::str(name)) + "'";
}

/// Nothing where __dlpack__ has to look at it: it orders streams, and says why it refuses a tensor.
std::optional<TensorView> viewByExchange(nb::handle value, std::uintptr_t stream, const char *role,
                                         nb::handle name, bool isWritten) {
  const dlpack::ExchangeTable *table = dlpack::exchangeTableOf(value.type());
  if (table == nullptr || isTracked(value))
    return std::nullopt;
  DLManagedTensorVersioned *made = nullptr;
  if (table->toManaged(value.ptr(), &made) != 0) {
    PyErr_Clear();
    return std::nullopt;
  }
  std::shared_ptr<DLManagedTensorVersioned> kept(made, ReleaseManaged());
  bool isReadOnly = (kept->flags & dlpack::kReadOnly) != 0;
  if ((isWritten && isReadOnly) || !isReady(*table, kept->dl_tensor, stream))
    return std::nullopt;
  Result<TensorView> view = viewOf(kept->dl_tensor, kept->flags, kept);
  if (!view.isOk())
    refuse(view.status().within(describe(role, name)).message());
  return std::move(*view);
}

} // namespace

TensorReader::TensorReader() : readAnyway(nb::module_::import_("smelt._tensor").attr("view_of")) {}

TensorView TensorReader::read(nb::handle value, std::uintptr_t stream, const char *role,
                              nb::handle name, bool isWritten) const {
  if (std::optional<TensorView> view = numpy.view(value, isWritten))
    return std::move(*view);
  if (nb::isinstance<DeviceTensor>(value))
    return viewOfOwn(nb::cast<const DeviceTensor &>(value), stream);
  if (std::optional<TensorView> view = viewByExchange(value, stream, role, name, isWritten))
    return std::move(*view);
  return nb::cast<TensorView>(readAnyway(value, describe(role, name), stream, isWritten));
}

} // namespace smelt::python
