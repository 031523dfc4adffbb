// Ampere of workstations: A40, A10, RTX A6000. GeForce parts of it do 16-bit products at half this rate.
#pragma once

#include "codegen/target.h"

namespace smelt::codegen {

inline constexpr Target kSm86{
    .arch = "sm_86",
    .capability = 86,
    .limits = {.sharedBytesPerBlock = 101376,
               .sharedBytesPerMultiprocessor = 102400,
               .registersPerMultiprocessor = 65536,
               .threadsPerMultiprocessor = 1536,
               .blocksPerMultiprocessor = 16},
    .instructions = {},
    .flopsPerClock =
        {.float64 = 4, .float32 = 256, .tf32 = 512, .half = 1024, .int8 = 2048, .float8 = 0},
    .part = {.name = "A40",
             .multiprocessors = 84,
             .l2Bytes = 6 << 20,
             .bytesPerSecond = 0.696e12,
             .clocksPerSecond = 1.74e9},
};

} // namespace smelt::codegen
