// Tensors that cross between Python and the runtime without a copy.
#pragma once

#include <memory>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <smelt.hpp>

namespace smelt::python {

/// A row-major tensor of the caller's, kept alive by `owner`, or by `array` where it came by DLPack.
struct TensorView {
  smelt_element_type elementType;
  Shape shape;
  std::uintptr_t address;
  std::size_t bytes;
  smelt_location location;
  int device; ///< CUDA ordinal, of device memory
  nanobind::object owner;
  nanobind::ndarray<nanobind::ro> array;

  Memory memory() const {
    return {location, elementType, reinterpret_cast<void *>(address), bytes};
  }
};

/// Device memory with what it holds. Hands itself out by DLPack, which keeps it alive.
struct DeviceTensor {
  smelt_element_type elementType;
  Shape shape;
  int device;
  std::shared_ptr<DeviceMemory> memory;
  /// Waits for the run that fills it; called where a consumer's stream does not wait by itself.
  nanobind::object wait;
  std::uintptr_t stream; ///< on which the run was enqueued
};

std::size_t elementCount(const Shape &shape);

void bindTensors(nanobind::module_ &module);

} // namespace smelt::python
