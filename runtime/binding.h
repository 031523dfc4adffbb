// Memory of the caller for one tensor.
#pragma once

#include "runtime/plan_format.h"

#include <memory>
#include <optional>
#include <vector>

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
  /// Of an output: the shape that it must have, where that is known.
  std::optional<std::vector<int64_t>> shape = {};
  /// What keeps the memory, where that was handed over; null: the caller keeps it.
  std::shared_ptr<const void> owner = {};
};

inline constexpr uint64_t kBindingAlignment = 16;

} // namespace smelt::runtime
