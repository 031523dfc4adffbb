// Hopper: H100, H200. The `a` allows wgmma and setmaxnreg, and binds the code to 9.0.
#pragma once

#include "codegen/target.h"

namespace smelt::codegen {

inline constexpr Target kSm90a{
    .arch = "sm_90a",
    .capability = 90,
    .limits = {.sharedBytesPerBlock = 232448,
               .sharedBytesPerMultiprocessor = 233472,
               .registersPerMultiprocessor = 65536,
               .threadsPerMultiprocessor = 2048,
               .blocksPerMultiprocessor = 32},
    .instructions = {.programmaticLaunch = true,
                     .clusters = true,
                     .tensorMaps = true,
                     .wgmma = true,
                     .float8 = true},
    .flopsPerClock =
        {.float64 = 128, .float32 = 256, .tf32 = 2048, .half = 4096, .int8 = 8192, .float8 = 8192},
    .part = {.name = "H200",
             .multiprocessors = 132,
             .l2Bytes = 60 << 20,
             .bytesPerSecond = 4.8e12,
             .clocksPerSecond = 1.83e9},
};

} // namespace smelt::codegen
