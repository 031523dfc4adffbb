#include "python/core/tensor.h"

#include "python/core/errors.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace smelt::python {

namespace {

// Of DLPack's types those that DLPack and the runtime both know; its codes for floats of 8 bits are those of version 1.1.
struct TypeRow {
  smelt_element_type type;
  std::uint8_t code, bits;
};
constexpr std::uint8_t kInt = 0, kUint = 1, kFloat = 2, kBfloat = 4, kBool = 6;
constexpr TypeRow kTypes[] = {
    {SMELT_F32, kFloat, 32}, {SMELT_F16, kFloat, 16},   {SMELT_BF16, kBfloat, 16},
    {SMELT_F64, kFloat, 64}, {SMELT_I64, kInt, 64},     {SMELT_I32, kInt, 32},
    {SMELT_I16, kInt, 16},   {SMELT_I8, kInt, 8},       {SMELT_U8, kUint, 8},
    {SMELT_BOOL, kBool, 8},  {SMELT_U16, kUint, 16},    {SMELT_U32, kUint, 32},
    {SMELT_U64, kUint, 64},  {SMELT_F8E4M3FN, 10, 8},   {SMELT_F8E4M3FNUZ, 11, 8},
    {SMELT_F8E5M2, 12, 8},   {SMELT_F8E5M2FNUZ, 13, 8}, {SMELT_F8E8M0, 14, 8}};

smelt_element_type elementTypeOf(nb::dlpack::dtype type) {
  for (const TypeRow &row : kTypes)
    if (row.code == type.code && row.bits == type.bits && type.lanes == 1)
      return row.type;
  refuse("a tensor has an element type that Smelt does not know (DLPack code " +
         std::to_string(type.code) + ", " + std::to_string(type.bits) + " bits)");
}

nb::dlpack::dtype dlpackTypeOf(smelt_element_type type) {
  for (const TypeRow &row : kTypes)
    if (row.type == type)
      return {row.code, row.bits, 1};
  refuse("DLPack has no element type for this tensor");
}

bool isOnDevice(int deviceType) {
  return deviceType == nb::device::cuda::value || deviceType == nb::device::cuda_managed::value;
}

bool isOnHost(int deviceType) {
  return deviceType == nb::device::cpu::value || deviceType == nb::device::cuda_host::value;
}

/// Of a DLPack capsule, or of whatever else nanobind takes for an array.
TensorView viewOfArray(const nb::ndarray<nb::ro> &array) {
  nb::dlpack::dltensor tensor = {const_cast<void *>(array.data()),
                                 {array.device_type(), array.device_id()},
                                 static_cast<std::int32_t>(array.ndim()),
                                 array.dtype(),
                                 const_cast<std::int64_t *>(array.shape_ptr()),
                                 const_cast<std::int64_t *>(array.stride_ptr()),
                                 0};
  return viewOf(tensor, std::make_shared<nb::ndarray<nb::ro>>(array));
}

/// What a DLPack consumer gets: a capsule that keeps the tensor.
nb::object toDlpack(nb::handle_t<DeviceTensor> self, nb::kwargs arguments) {
  DeviceTensor &tensor = nb::cast<DeviceTensor &>(self);
  nb::object stream = arguments.contains("stream") ? nb::object(arguments["stream"]) : nb::none();
  bool isOrdered = !stream.is_none() && (nb::cast<std::int64_t>(stream) == -1 ||
                                         nb::cast<std::uintptr_t>(stream) == tensor.stream);
  if (!isOrdered)
    tensor.wait();
  std::vector<std::size_t> shape(tensor.shape.begin(), tensor.shape.end());
  nb::ndarray<> array(tensor.memory->address(), shape.size(), shape.data(), self, nullptr,
                      dlpackTypeOf(tensor.elementType), nb::device::cuda::value, tensor.device);
  return nb::cast(array);
}

} // namespace

std::size_t elementCount(const Shape &shape) {
  std::size_t count = 1;
  for (std::int64_t extent : shape)
    count *= static_cast<std::size_t>(extent);
  return count;
}

TensorView viewOf(const nb::dlpack::dltensor &tensor, std::shared_ptr<const void> kept) {
  std::int64_t dense = 1;
  for (std::int32_t axis = tensor.ndim; axis-- > 0;) {
    if (tensor.strides != nullptr && tensor.shape[axis] > 1 && tensor.strides[axis] != dense)
      refuse("a tensor is not contiguous; make it so, which copies it");
    dense *= tensor.shape[axis];
  }
  int deviceType = tensor.device.device_type;
  if (!isOnDevice(deviceType) && !isOnHost(deviceType))
    refuse("a tensor lies neither in host memory nor on a CUDA device");
  smelt_element_type type = elementTypeOf(tensor.dtype);
  return {type,
          Shape(tensor.shape, tensor.shape + tensor.ndim),
          reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.byte_offset,
          static_cast<std::size_t>(dense) * smelt_element_bytes(type),
          isOnDevice(deviceType) ? SMELT_DEVICE : SMELT_HOST,
          tensor.device.device_id,
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
      .def_static("of", &viewOfArray, "array"_a, "Of a DLPack capsule.");
  nb::class_<DeviceTensor>(
      module, "DeviceTensor",
      "An output in device memory, which it owns; any consumer of DLPack takes it without a copy.")
      .def_ro("shape", &DeviceTensor::shape)
      .def_ro("element_type", &DeviceTensor::elementType)
      .def_prop_ro("address",
                   [](const DeviceTensor &tensor) {
                     return reinterpret_cast<std::uintptr_t>(tensor.memory->address());
                   })
      .def("__dlpack__", &toDlpack)
      .def("__dlpack_device__", [](const DeviceTensor &tensor) {
        return nb::make_tuple(int(nb::device::cuda::value), tensor.device);
      });
}

} // namespace smelt::python
