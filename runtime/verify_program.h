// Whether one architecture's program means something: its buffers, steps and launches.
#pragma once

#include "runtime/verify_metadata.h"

namespace smelt {

/// Fails with StatusCode::kPlan. Dims, tensors and weights of the metadata must have been verified.
Status verifyProgram(const plan::MetadataT &metadata, const plan::ProgramT &program,
                     const SectionSizes &sections);

} // namespace smelt
