// PTX of 8.0, for GPUs that no other code suits, those that come later among them: the portable
// instructions, within what every GPU since 8.0 has. Cost models think of an A100.
#pragma once

#include "codegen/targets/sm_80.h"
#include "codegen/targets/sm_86.h"

namespace smelt::codegen {

inline constexpr Target kCompute80{
    .arch = "compute_80",
    .capability = 80,
    .limits = kSm86.limits,
    .instructions = {},
    .flopsPerClock = kSm80.flopsPerClock,
    .part = kSm80.part,
};

} // namespace smelt::codegen
