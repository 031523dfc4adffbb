// What stands behind the handles of smelt.h.
#pragma once

#include "runtime/engine.h"
#include "runtime/smelt.h"

namespace smelt::runtime {

/// A handle to an engine that was made otherwise than through smelt.h, to be destroyed through it.
smelt_engine *makeHandle(SharedEngine engine);

} // namespace smelt::runtime
