#include "runtime/caller_options.h"

using smelt::runtime::Binding;
using smelt::runtime::ContextOptions;
using smelt::runtime::Location;
using smelt::runtime::Logger;
using smelt::runtime::Severity;

namespace smelt::api {

Result<Logger> readLogger(const smelt_logger &given) {
  SMELT_ASSIGN_OR_RETURN(smelt_logger read,
                         readOptions(&given, smelt_logger(SMELT_LOGGER_INIT), "logger"));
  if (read.write == nullptr)
    return Status(StatusCode::kUsage, "a logger needs write");
  if (read.least < SMELT_LOG_VERBOSE || read.least > SMELT_LOG_ERROR)
    return Status(StatusCode::kUsage, joinText(read.least, " is not a severity"));
  Logger logger;
  logger.least = static_cast<Severity>(read.least);
  logger.write = [read](Severity severity, const char *message) {
    try {
      read.write(read.user, static_cast<smelt_severity>(severity), message);
    } catch (...) {
      return; // what is logged is no reason to fail
    }
  };
  return logger;
}

Result<Binding> readBinding(const smelt_binding *given) {
  SMELT_ASSIGN_OR_RETURN(smelt_binding read,
                         readOptions(given, smelt_binding(SMELT_BINDING_INIT), "binding"));
  if (read.element_type < SMELT_F32 || read.element_type > SMELT_U2)
    return Status(StatusCode::kUsage, joinText(read.element_type, " is not an element type"));
  if (read.location != SMELT_DEVICE && read.location != SMELT_HOST)
    return Status(StatusCode::kUsage, joinText(read.location, " is not a location"));
  Binding binding;
  binding.elementType = static_cast<plan::ElementType>(read.element_type);
  binding.location = read.location == SMELT_HOST ? Location::kHost : Location::kDevice;
  binding.data = read.data;
  binding.bytes = read.bytes;
  binding.capacity = read.capacity;
  return binding;
}

Result<ContextOptions> readContextOptions(const smelt_context_options *given) {
  SMELT_ASSIGN_OR_RETURN(
      smelt_context_options read,
      readOptions(given, smelt_context_options(SMELT_CONTEXT_OPTIONS_INIT), "context options"));
  ContextOptions options;
  options.cachedShapes = read.cached_shapes;
  if (read.logger != nullptr) {
    SMELT_ASSIGN_OR_RETURN(options.logger, readLogger(*read.logger));
  }
  return options;
}

Status loggedAs(const Logger &logger, Status status) {
  if (!status.isOk())
    logger.log(Severity::kError, status.message());
  return status;
}

} // namespace smelt::api
