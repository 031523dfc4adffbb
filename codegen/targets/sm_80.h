// Ampere of data centres: A100, A30. The portable baseline: what is compiled for it runs on every 8.x.
#pragma once

#include "codegen/target.h"

namespace smelt::codegen {

inline constexpr Target kSm80{
    .arch = "sm_80",
    .capability = 80,
    .limits = {.sharedBytesPerBlock = 166912,
               .sharedBytesPerMultiprocessor = 167936,
               .registersPerMultiprocessor = 65536,
               .threadsPerMultiprocessor = 2048,
               .blocksPerMultiprocessor = 32},
    .instructions = {},
    .flopsPerClock =
        {.float64 = 64, .float32 = 128, .tf32 = 1024, .half = 2048, .int8 = 4096, .float8 = 0},
    .part = {.name = "A100 SXM 40 GB",
             .multiprocessors = 108,
             .l2Bytes = 40 << 20,
             .bytesPerSecond = 1.555e12,
             .clocksPerSecond = 1.41e9},
};

} // namespace smelt::codegen
