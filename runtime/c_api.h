// What stands behind the handles of smelt.h.
#pragma once

#include "runtime/api_boundary.h"
#include "runtime/context.h"
#include "runtime/describe_ports.h"
#include "runtime/describe_weights.h"
#include "runtime/engine.h"

struct smelt_engine {
  smelt::runtime::SharedEngine engine;
  smelt::api::PortDescriptions ports;
  smelt::api::WeightDescriptions weights;
};

struct smelt_context {
  std::unique_ptr<smelt::runtime::Context> context;
};

namespace smelt::api {

Result<runtime::EngineOptions> readEngineOptions(const smelt_engine_options *given);
/// on_progress of the options; nobody where they are NULL.
Result<runtime::LoadProgressHandler> readProgress(const smelt_engine_options *given);
Result<runtime::Logger> readLogger(const smelt_logger &given);
Result<runtime::Binding> readBinding(const smelt_binding *given);

/// The status, of which the logger hears where it is a failure.
Status loggedAs(const runtime::Logger &logger, Status status);

} // namespace smelt::api

namespace smelt::runtime {

/// What smelt_engine_create does once it has read the plan and opened the driver. `options` may be
/// null.
Status createEngine(const Plan &plan, Driver driver, const smelt_engine_options *options,
                    smelt_engine **engine);

} // namespace smelt::runtime
