// The engines of smelt.h that the runtime makes, for the library and for tests.
#pragma once

#include "runtime/api_boundary.h"
#include "runtime/engine.h"

namespace smelt::api {

/// `given` may be null.
Result<runtime::EngineOptions> readEngineOptions(const smelt_engine_options *given);
/// on_progress of the options; nobody where they are NULL.
Result<runtime::LoadProgressHandler> readProgress(const smelt_engine_options *given);

} // namespace smelt::api

namespace smelt::runtime {

/// What smelt_engine_create does once it has read the plan and opened the driver. `options` may be
/// null.
Status createEngine(const Plan &plan, Driver driver, const smelt_engine_options *options,
                    smelt_engine **engine);

} // namespace smelt::runtime
