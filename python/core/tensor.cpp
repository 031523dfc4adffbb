#include "python/core/tensor.h"

#include "python/core/errors.h"
#include "python/core/stream.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace smelt::python {

namespace {

/// Of a DLPack capsule, or of whatever else nanobind takes for an array.
TensorView viewOfArray(const nb::ndarray<nb::ro> &array, const std::string &what) {
  nb::dlpack::dtype type = array.dtype();
  DLTensor tensor = {const_cast<void *>(array.data()),
                     {array.device_type(), array.device_id()},
                     static_cast<std::int32_t>(array.ndim()),
                     {type.code, type.bits, type.lanes},
                     const_cast<std::int64_t *>(array.shape_ptr()),
                     const_cast<std::int64_t *>(array.stride_ptr()),
                     0};
  Result<TensorView> view = viewOf(tensor, 0, std::make_shared<nb::ndarray<nb::ro>>(array));
  if (!view.isOk())
    refuse(view.status().within(what).message());
  return std::move(*view);
}

/// Elements of fewer than 8 bits have a byte each here, which only a flag of DLPack's would tell, and nanobind sets none.
nb::dlpack::dtype typeOf(smelt_element_type type) {
  DLDataType named = dlpack::typeOf(type);
  if (named.bits < 8)
    refuse(std::string("a tensor of ") + smelt_element_type_name(type) +
           " cannot be given out by DLPack");
  return {named.code, named.bits, named.lanes};
}

constexpr std::int64_t kOrderedByConsumer = -1; ///< as a stream, in DLPack's protocol

/// What a DLPack consumer gets: a capsule that keeps the tensor.
nb::object toDlpack(nb::handle_t<DeviceTensor> self, nb::kwargs arguments) {
  DeviceTensor &tensor = nb::cast<DeviceTensor &>(self);
  nb::object stream = arguments.contains("stream") ? nb::object(arguments["stream"]) : nb::none();
  if (!stream.is_none() && nb::cast<std::int64_t>(stream) == kOrderedByConsumer)
    tensor.memory->leaveStream();
  else
    tensor.showTo(streamOf(stream));
  std::vector<std::size_t> shape(tensor.shape.begin(), tensor.shape.end());
  nb::ndarray<> array(tensor.memory->address(), shape.size(), shape.data(), self, nullptr,
                      typeOf(tensor.elementType), dlpack::kCuda, tensor.device);
  return nb::cast(array);
}

} // namespace

void DeviceTensor::showTo(std::optional<std::uintptr_t> consumer) const {
  if (consumer && isSameStream(*consumer, stream))
    return;
  memory->leaveStream();
  wait();
}

std::size_t elementCount(const Shape &shape) {
  std::size_t count = 1;
  for (std::int64_t extent : shape)
    count *= static_cast<std::size_t>(extent);
  return count;
}

Result<TensorView> viewOf(const DLTensor &tensor, std::uint64_t flags,
                          std::shared_ptr<const void> kept) {
  SMELT_ASSIGN_OR_RETURN(dlpack::View view, dlpack::view(tensor, flags));
  return TensorView{
      view.elementType, std::move(view.shape), reinterpret_cast<std::uintptr_t>(view.data),
      view.bytes,       view.location,         view.device,
      std::move(kept)};
}

void bindTensors(nb::module_ &module) {
  nb::class_<TensorView>(module, "TensorView", "A row-major tensor in its owner's memory.")
      .def(
          "__init__",
          [](TensorView *self, smelt_element_type type, Shape shape, std::uintptr_t address,
             std::size_t bytes, nb::object owner) {
            new (self) TensorView{type,
                                  std::move(shape),
                                  address,
                                  bytes,
                                  SMELT_HOST,
                                  0,
                                  std::make_shared<nb::object>(std::move(owner))};
          },
          "element_type"_a, "shape"_a, "address"_a, "bytes"_a, "owner"_a, "Of host memory.")
      .def_static("of", &viewOfArray, "array"_a, "what"_a,
                  "Of a DLPack capsule. Messages begin with `what`.");
  nb::class_<DeviceTensor>(
      module, "DeviceTensor",
      "An output in device memory, which it owns; any consumer of DLPack takes it without a copy.")
      .def_ro("shape", &DeviceTensor::shape)
      .def_ro("element_type", &DeviceTensor::elementType)
      .def_prop_ro("address",
                   [](const DeviceTensor &tensor) {
                     tensor.memory->leaveStream(); // for whoever orders its use by itself
                     return reinterpret_cast<std::uintptr_t>(tensor.memory->address());
                   })
      .def("__dlpack__", &toDlpack)
      .def("__dlpack_device__",
           [](const DeviceTensor &tensor) { return nb::make_tuple(dlpack::kCuda, tensor.device); });
}

} // namespace smelt::python
