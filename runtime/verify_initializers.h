// Whether what a plan says of the model's initializers can be: copies that stay within them and within
// the weights.
#pragma once

#include "runtime/plan_format.h"
#include "runtime/status.h"

namespace smelt {

/// Fails with StatusCode::kPlan. Updates of weights copy afterwards without looking.
Status verifyInitializers(const plan::MetadataT &metadata);

} // namespace smelt
