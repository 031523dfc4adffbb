// Memory of the caller for one tensor.
#pragma once

#include "runtime/plan_format.h"

namespace smelt::runtime {

enum class Location { kDevice, kHost };

/// Memory of the caller that holds a model's input or takes an output, row-major. Device memory must
/// be aligned to kBindingAlignment.
struct Binding {
  plan::ElementType elementType = plan::ElementType::f32;
  Location location = Location::kDevice;
  void *data = nullptr;
  uint64_t bytes = 0; ///< at least those of the tensor
  /// Of an output that takes over an input's memory, and of that input: the extent that the memory
  /// is laid out with along the axis that grows; 0: that of the tensor.
  int64_t capacity = 0;
};

inline constexpr uint64_t kBindingAlignment = 16;

} // namespace smelt::runtime
