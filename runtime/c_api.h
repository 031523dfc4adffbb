// What stands behind the handles of smelt.h.
#pragma once

#include "runtime/engine.h"
#include "runtime/smelt.h"

namespace smelt::runtime {

/// What smelt_engine_create does once it has read the plan and opened the driver. `options` may be
/// null.
Status createEngine(const Plan &plan, Driver driver, const smelt_engine_options *options,
                    smelt_engine **engine);

} // namespace smelt::runtime
