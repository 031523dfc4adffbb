// What the options of an engine on a GPU mean.
#include "runtime/caller_options.h"
#include "runtime/gpu_engine.h"

using smelt::runtime::DeviceAllocator;
using smelt::runtime::EngineOptions;
using smelt::runtime::GpuEngine;
using smelt::runtime::LoadProgress;
using smelt::runtime::LoadProgressHandler;

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
  if (read.share_weights_with != nullptr) {
    if (!read.share_weights_with->runsPlan())
      return Status(StatusCode::kUsage, "share_weights_with is an engine on the CPU; weights are "
                                        "shared on one GPU");
    options.sharesWeightsWith =
        static_cast<const GpuEngine *>(read.share_weights_with)->planEngine();
  }
  return options;
}

} // namespace smelt::api
