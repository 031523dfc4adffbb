// Tensors that cross between Python and the runtime without a copy.
#pragma once

#include "python/core/output_memory.h"
#include "runtime/dlpack.h"

#include <functional>
#include <memory>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <smelt.hpp>

namespace smelt::python {

/// A row-major tensor of the caller's.
struct TensorView {
  smelt_element_type elementType;
  Shape shape;
  std::uintptr_t address;
  std::size_t bytes;
  smelt_location location;
  int device; ///< CUDA ordinal, of device memory
  /// What keeps the memory. Objects of Python's may be released: with Python's lock alone.
  std::shared_ptr<const void> kept;

  Memory memory() const {
    return {location, elementType, reinterpret_cast<void *>(address), bytes};
  }
  bool isOnDevice() const { return location == SMELT_DEVICE; }
  /// The same memory, taken for the same tensor.
  bool isLike(const TensorView &other) const {
    return address == other.address && bytes == other.bytes && location == other.location &&
           elementType == other.elementType && device == other.device && shape == other.shape;
  }
};

/// Device memory with what it holds. Hands itself out by DLPack, which keeps it alive.
struct DeviceTensor {
  smelt_element_type elementType;
  Shape shape;
  int device;
  std::shared_ptr<OutputBlock> memory;
  std::function<void()> wait; ///< for the run that fills it
  std::uintptr_t stream;      ///< on which the run was enqueued

  /// To a consumer that works on `consumer`; waits where that would not wait by itself.
  void showTo(std::optional<std::uintptr_t> consumer) const;
};

std::size_t elementCount(const Shape &shape);

/// As DLPack describes it; what dlpack::view refuses is refused.
Result<TensorView> viewOf(const DLTensor &tensor, std::uint64_t flags,
                          std::shared_ptr<const void> kept);

void bindTensors(nanobind::module_ &module);

} // namespace smelt::python
