// What one set of input shapes makes of a program: how much memory it takes, where buffers lie in
// it, and what each launch is called with. Computed on the host, without a device.
#pragma once

#include "runtime/shape_program.h"

#include <array>

namespace smelt::runtime {

/// A kernel launch with everything filled in but the addresses of buffers.
struct ScheduledLaunch {
  uint32_t kernel = 0; ///< of Program.kernels
  std::array<uint32_t, 3> grid = {};
  std::array<uint32_t, 3> block = {};
  std::array<uint32_t, 3> cluster = {}; ///< all zero: none
  uint32_t sharedBytes = 0;
  /// An extent of the grid is zero for these shapes: nothing is launched.
  bool isEmpty = false;

  struct Pointer {
    uint32_t argument;
    uint32_t buffer; ///< of Program.buffers
  };
  std::vector<Pointer> pointers;
  /// One cell an argument, as the kernel reads it; those of pointers are filled by setAddresses.
  std::vector<uint64_t> cells;

  int64_t bytes = 0; ///< device memory traffic that the launch cannot avoid; 0 when not known
  int64_t flops = 0;

  /// Fills the cells of pointers from the addresses of Program.buffers.
  void setAddresses(std::span<const uint64_t> bufferAddresses);
};

struct Schedule {
  ShapeValues shapes;
  std::vector<ScheduledLaunch> launches; ///< in Program.launches' order
  std::vector<uint64_t> inputBytes;      ///< of each model input
  std::vector<uint64_t> outputBytes;
  std::vector<uint64_t> slotOffsets; ///< of each arena slot; multiples of plan::kWeightBytes
  uint64_t arenaBytes = 0;
};

/// Fails with kUsage when the shapes lead to sizes that no device can take.
Result<Schedule> makeSchedule(const plan::MetadataT &metadata, const plan::ProgramT &program,
                              ShapeValues shapes);

} // namespace smelt::runtime
