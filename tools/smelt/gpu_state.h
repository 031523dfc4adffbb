// What a GPU is doing beside one's own work, by NVIDIA's management library: clocks, temperature, what slows it down, who else
// uses it. Figures taken on a GPU that throttles or is shared are not what they seem.
#pragma once

#include "runtime/device.h"

#include <optional>
#include <string>
#include <vector>

namespace smelt::tools {

struct GpuState {
  unsigned clockMhz = 0, highestClockMhz = 0; ///< of the multiprocessors
  unsigned memoryClockMhz = 0;
  unsigned celsius = 0;
  std::vector<std::string> slowedBy; ///< "heat", "its power limit"
  size_t processes = 0;              ///< that compute on it, this one among them
};

/// Nothing where the library is missing, or does not know the device.
std::optional<GpuState> readGpuState(const runtime::Device &device);

} // namespace smelt::tools
