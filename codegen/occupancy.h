// How many blocks of a kernel one multiprocessor holds at a time, and what allows no more. No device is needed.
#pragma once

#include "codegen/target.h"

#include <cstdint>
#include <string>

namespace smelt::codegen {

/// What a kernel takes of a multiprocessor.
struct BlockNeeds {
  uint32_t threads = 1;           ///< of a block
  uint32_t registers = 0;         ///< of a thread
  uint32_t staticSharedBytes = 0; ///< of a block, without what the system reserves
  uint32_t dynamicSharedBytes = 0;
};

struct Occupancy {
  uint32_t blocks = 0; ///< 0: the multiprocessor cannot hold even one
  double threads = 0;  ///< of those blocks, over the threads that a multiprocessor can have
  std::string
      limitedBy; ///< all that allow no more: "registers, shared memory", "threads", "blocks"
};

/// By NVIDIA's own rules (cuda_occupancy.h). Nothing is resident of a block that the target does not take.
Occupancy occupancyOf(const BlockNeeds &needs, const Target &target);

} // namespace smelt::codegen
