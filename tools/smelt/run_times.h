// Every run that was measured, for other tools to look at.
#pragma once

#include "runtime/profile.h"

#include <string>

namespace smelt::tools {

/// {"schema": "smelt.times/1", "runs": [{"in_ms", "compute_ms", "out_ms", "enqueue_us"}...]}, whole or not at all.
Status writeRunTimes(const runtime::RunTimes &times, const std::string &path);

} // namespace smelt::tools
