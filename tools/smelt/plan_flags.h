// How a plan was compiled, as far as it says so.
#pragma once

#include "runtime/read_plan.h"

#include <string>

namespace smelt::tools {

/// "tf32", "fp16, --within 0.01, --refit"; "none" where float32 stayed as it is. Of plans older than format 3.7, which keep no
/// IR, it tells tf32 alone.
std::string planFlags(const runtime::Plan &plan);

} // namespace smelt::tools
