// What structs of smelt.h mean, wherever an engine runs.
#pragma once

#include "runtime/api_boundary.h"
#include "runtime/binding.h"
#include "runtime/context_options.h"
#include "runtime/logger.h"

namespace smelt::api {

Result<runtime::Logger> readLogger(const smelt_logger &given);
Result<runtime::Binding> readBinding(const smelt_binding *given);
/// `given` may be null.
Result<runtime::ContextOptions> readContextOptions(const smelt_context_options *given);

/// The status, of which the logger hears where it is a failure.
Status loggedAs(const runtime::Logger &logger, Status status);

} // namespace smelt::api
