// The CUDA driver as a table of functions. The real one is opened when it is first needed, so that
// programs that use the runtime start without a driver; tests and tools fill the table otherwise
// (fake_driver.h).
#pragma once

#include "runtime/status.h"

#include <cuda.h>
#include <cudaTypedefs.h>
#include <functional>
#include <memory>
#include <type_traits>

namespace smelt::runtime {

/// One entry for each line of driver_api.inc, callable like the function of the same name.
struct DriverApi {
#define SMELT_DRIVER_FUNCTION(name, version)                                                       \
  std::function<std::remove_pointer_t<PFN_##name##_v##version>> name;
#include "runtime/driver_api.inc"
#undef SMELT_DRIVER_FUNCTION
};

using Driver = std::shared_ptr<const DriverApi>;

/// Opens the installed driver. Fails with kEnvironment when there is none or it is too old.
Result<Driver> openDriver();

/// What a failed driver call means: "function failed while doing: CUDA_ERROR_X (explanation)".
/// kResources for exhausted memory, kEnvironment for what another driver, device or architecture
/// would mend, kRunFailed for the rest.
Status cudaFailure(const DriverApi &driver, CUresult result, const char *function,
                   const std::string &doing,
                   std::source_location where = std::source_location::current());

} // namespace smelt::runtime

/// Calls a driver function and leaves the current function with a Status when it fails. `doing`
/// completes "failed while ..."; it is evaluated only on failure.
#define SMELT_RETURN_IF_CUDA_ERROR(driver, doing, name, ...)                                       \
  do {                                                                                             \
    if (CUresult smeltCudaResult = (driver).name(__VA_ARGS__); smeltCudaResult != CUDA_SUCCESS)    \
      return ::smelt::runtime::cudaFailure((driver), smeltCudaResult, #name, doing);               \
  } while (false)
