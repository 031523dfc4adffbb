// Descriptors for the tensor memory accelerator, encoded by the driver.
#pragma once

#include "runtime/driver.h"
#include "runtime/plan_format.h"

#include <cstddef>
#include <span>

namespace smelt::runtime {

/// Encodes `map` for a buffer at `address` and the values `dims` of the plan's dims. `target` has
/// room for 128 bytes and is aligned to 64.
Status encodeTensorMap(const DriverApi &api, const plan::TensorMapT &map,
                       std::span<const int64_t> dims, uint64_t address, std::byte *target);

} // namespace smelt::runtime
