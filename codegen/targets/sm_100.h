// Blackwell of data centres: B200. Portable code only: its own matrix instructions (tcgen05) are
// not used.
#pragma once

#include "codegen/target.h"

namespace smelt::codegen {

inline constexpr Target kSm100{
    .arch = "sm_100",
    .capability = 100,
    .limits = {.sharedBytesPerBlock = 232448,
               .sharedBytesPerMultiprocessor = 233472,
               .registersPerMultiprocessor = 65536,
               .threadsPerMultiprocessor = 2048,
               .blocksPerMultiprocessor = 32},
    .instructions = {.programmaticLaunch = true,
                     .clusters = true,
                     .tensorMaps = true,
                     .float8 = true},
    .flopsPerClock = {.float64 = 128,
                      .float32 = 256,
                      .tf32 = 4096,
                      .half = 8192,
                      .int8 = 16384,
                      .float8 = 16384},
    .part = {.name = "B200",
             .multiprocessors = 148,
             .l2Bytes = 126 << 20,
             .bytesPerSecond = 8e12,
             .clocksPerSecond = 1.86e9},
};

} // namespace smelt::codegen
