// Blackwell of workstations: RTX PRO 6000. GeForce parts of it do 16-bit products at half this
// rate. Clusters have one block.
#pragma once

#include "codegen/target.h"

namespace smelt::codegen {

inline constexpr Target kSm120{
    .arch = "sm_120",
    .capability = 120,
    .limits = {.sharedBytesPerBlock = 101376,
               .sharedBytesPerMultiprocessor = 102400,
               .registersPerMultiprocessor = 65536,
               .threadsPerMultiprocessor = 1536,
               .blocksPerMultiprocessor = 24},
    .instructions = {.programmaticLaunch = true, .tensorMaps = true, .float8 = true},
    .flopsPerClock =
        {.float64 = 4, .float32 = 256, .tf32 = 512, .half = 1024, .int8 = 2048, .float8 = 2048},
    .part = {.name = "RTX PRO 6000 Blackwell",
             .multiprocessors = 188,
             .l2Bytes = 128 << 20,
             .bytesPerSecond = 1.792e12},
};

} // namespace smelt::codegen
