// What the option structs of smelt.h mean to the runtime.
#include "runtime/c_api.h"

#include "runtime/bindings.h"

using smelt::runtime::Binding;
using smelt::runtime::DeviceAllocator;
using smelt::runtime::EngineOptions;
using smelt::runtime::LoadProgress;
using smelt::runtime::LoadProgressHandler;
using smelt::runtime::Location;
using smelt::runtime::Logger;
using smelt::runtime::Severity;

namespace smelt::api {

static Result<DeviceAllocator> readAllocator(const smelt_allocator &given) {
  SMELT_ASSIGN_OR_RETURN(smelt_allocator allocator,
                         readOptions(&given, smelt_allocator(SMELT_ALLOCATOR_INIT), "allocator"));
  if (allocator.allocate == nullptr || allocator.release == nullptr)
    return Status(StatusCode::kUsage, "an allocator needs both allocate and release");
  DeviceAllocator read;
  read.allocate = [allocator](uint64_t bytes) {
    return reinterpret_cast<CUdeviceptr>(allocator.allocate(allocator.user, bytes));
  };
  read.release = [allocator](CUdeviceptr address, uint64_t bytes) {
    try {
      allocator.release(allocator.user, reinterpret_cast<void *>(address), bytes);
    } catch (...) {
      return; // releases run in destructors and have nobody to report to
    }
  };
  return read;
}

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

static Result<smelt_engine_options> readOwn(const smelt_engine_options *given) {
  return readOptions(given, smelt_engine_options(SMELT_ENGINE_OPTIONS_INIT), "engine options");
}

Result<LoadProgressHandler> readProgress(const smelt_engine_options *given) {
  SMELT_ASSIGN_OR_RETURN(smelt_engine_options read, readOwn(given));
  if (read.on_progress == nullptr)
    return LoadProgressHandler();
  return LoadProgressHandler([read](const LoadProgress &progress) {
    smelt_load_progress step = {sizeof(smelt_load_progress), progress.phase, progress.done,
                                progress.total};
    return read.on_progress(read.progress_user, &step) == 0;
  });
}

Result<EngineOptions> readEngineOptions(const smelt_engine_options *given) {
  SMELT_ASSIGN_OR_RETURN(smelt_engine_options read, readOwn(given));
  EngineOptions options;
  options.device = read.device;
  options.context = static_cast<CUcontext>(read.cuda_context);
  if (read.allocator != nullptr) {
    SMELT_ASSIGN_OR_RETURN(options.allocator, readAllocator(*read.allocator));
  }
  if (read.logger != nullptr) {
    SMELT_ASSIGN_OR_RETURN(options.logger, readLogger(*read.logger));
  }
  SMELT_ASSIGN_OR_RETURN(options.progress, readProgress(given));
  if (read.share_weights_with != nullptr)
    options.sharesWeightsWith = read.share_weights_with->engine;
  return options;
}

Result<Binding> readBinding(const smelt_binding *given) {
  SMELT_ASSIGN_OR_RETURN(smelt_binding read,
                         readOptions(given, smelt_binding(SMELT_BINDING_INIT), "binding"));
  if (smelt_element_bytes(read.element_type) == 0)
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

Status loggedAs(const Logger &logger, Status status) {
  if (!status.isOk())
    logger.log(Severity::kError, status.message());
  return status;
}

} // namespace smelt::api
