// Ampere of embedded systems: Jetson AGX Orin.
#pragma once

#include "codegen/target.h"

namespace smelt::codegen {

inline constexpr Target kSm87{
    .arch = "sm_87",
    .capability = 87,
    .limits = {.sharedBytesPerBlock = 166912,
               .sharedBytesPerMultiprocessor = 167936,
               .registersPerMultiprocessor = 65536,
               .threadsPerMultiprocessor = 1536,
               .blocksPerMultiprocessor = 16},
    .instructions = {},
    .flopsPerClock =
        {.float64 = 4, .float32 = 256, .tf32 = 1024, .half = 2048, .int8 = 4096, .float8 = 0},
    .part = {.name = "Jetson AGX Orin",
             .multiprocessors = 16,
             .l2Bytes = 4 << 20,
             .bytesPerSecond = 0.2048e12},
};

} // namespace smelt::codegen
