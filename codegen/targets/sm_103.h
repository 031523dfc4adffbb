// Blackwell Ultra: B300, with little float64 and int8. Portable code only, as for sm_100.
#pragma once

#include "codegen/target.h"

namespace smelt::codegen {

inline constexpr Target kSm103{
    .arch = "sm_103",
    .capability = 103,
    .limits = {.sharedBytesPerBlock = 232448,
               .sharedBytesPerMultiprocessor = 233472,
               .registersPerMultiprocessor = 65536,
               .threadsPerMultiprocessor = 2048,
               .blocksPerMultiprocessor = 32},
    .instructions = {.programmaticLaunch = true,
                     .clusters = true,
                     .tensorMaps = true,
                     .float8 = true},
    .flopsPerClock =
        {.float64 = 4, .float32 = 256, .tf32 = 4096, .half = 8192, .int8 = 0, .float8 = 16384},
    .part = {.name = "B300", .multiprocessors = 148, .l2Bytes = 126 << 20, .bytesPerSecond = 8e12},
};

} // namespace smelt::codegen
