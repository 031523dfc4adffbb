// DLPack, by which libraries hand each other tensors where they lie: its binary interface, major version 1, and what its
// tensors are to Smelt. Python's package is built with it too.
#pragma once

#include "runtime/smelt.h"
#include "runtime/status.h"

#include <cstdint>
#include <vector>

// NOLINTBEGIN(readability-identifier-naming)
// By the names of DLPack's own header, which applications include beside smelt.h: members and their places are fixed there.

struct DLPackVersion {
  uint32_t major, minor;
};

struct DLDevice {
  int32_t device_type;
  int32_t device_id;
};

struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct DLTensor {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides;     ///< in elements; null: row-major
  uint64_t byte_offset; ///< from data to the first element
};

/// A tensor and what keeps its memory. A later major version may only keep what lies before `dl_tensor`.
struct DLManagedTensorVersioned {
  DLPackVersion version;
  void *manager_ctx;
  void (*deleter)(DLManagedTensorVersioned *self); ///< null: nothing to release
  uint64_t flags;
  DLTensor dl_tensor;
};
// NOLINTEND(readability-identifier-naming)

namespace smelt::dlpack {

inline constexpr DLPackVersion kVersion = {1, 1};

// Flags.
inline constexpr uint64_t kReadOnly = 1;
inline constexpr uint64_t kSubBytePadded =
    4; ///< an element of fewer than 8 bits has a byte of its own

// Types of devices.
inline constexpr int32_t kCpu = 1, kCuda = 2, kCudaHost = 3, kCudaManaged = 13;

/// A row-major tensor, as the runtime binds it.
struct View {
  smelt_element_type elementType;
  smelt_location location;
  int device; ///< CUDA ordinal, where `isOnOneDevice`
  bool isOnOneDevice;
  std::vector<int64_t> shape;
  void *data; ///< of the first element
  uint64_t bytes;
  int64_t capacity; ///< as in smelt_binding; 0: dense
};

/// Of a tensor with these flags. The extent of `growingAxis` (-1: none) may be less than the memory is laid out for, as in
/// a slice of a cache. kUsage for a tensor that is not row-major, of a type or on a device that the runtime does not know,
/// or that makes no sense.
Result<View> view(const DLTensor &tensor, uint64_t flags, int64_t growingAxis = -1);

/// DLPack's name for a type of smelt.h.
DLDataType typeOf(smelt_element_type type);

} // namespace smelt::dlpack
