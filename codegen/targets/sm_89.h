// Ada: L40S, L4, RTX 6000 Ada. GeForce parts of it do 16-bit products at half this rate.
#pragma once

#include "codegen/target.h"

namespace smelt::codegen {

inline constexpr Target kSm89{
    .arch = "sm_89",
    .capability = 89,
    .limits = {.sharedBytesPerBlock = 101376,
               .sharedBytesPerMultiprocessor = 102400,
               .registersPerMultiprocessor = 65536,
               .threadsPerMultiprocessor = 1536,
               .blocksPerMultiprocessor = 24},
    .instructions = {.float8 = true},
    .flopsPerClock =
        {.float64 = 4, .float32 = 256, .tf32 = 512, .half = 1024, .int8 = 2048, .float8 = 2048},
    .part = {.name = "L40S",
             .multiprocessors = 142,
             .l2Bytes = 96 << 20,
             .bytesPerSecond = 0.864e12,
             .clocksPerSecond = 2.49e9},
};

} // namespace smelt::codegen
