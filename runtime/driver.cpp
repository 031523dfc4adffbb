#include "runtime/driver.h"

#include "runtime/text.h"

#include <dlfcn.h>

namespace smelt::runtime {

namespace {

constexpr int kRequiredVersion = 12040;

std::string versionText(int version) { return joinText(version / 1000, ".", version % 1000 / 10); }

Status noDriver(const std::string &why) {
  return Status(StatusCode::kEnvironment,
                joinText("no usable CUDA driver: ", why, "; install an NVIDIA driver for CUDA ",
                         versionText(kRequiredVersion), " or later, or run on the CPU"));
}

/// Fills the table through cuGetProcAddress, which alone is looked up by name in the library.
class DriverLoader {
public:
  explicit DriverLoader(PFN_cuGetProcAddress_v12000 getProcAddress)
      : getProcAddress(getProcAddress) {}

  template <typename Function>
  Status load(const char *name, int version, std::function<Function> &entry) const {
    void *address = nullptr;
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    CUresult result =
        getProcAddress(name, &address, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &found);
    if (result != CUDA_SUCCESS || address == nullptr)
      return noDriver(
          joinText("the installed one lacks ", name, " of CUDA ", versionText(version)));
    entry = reinterpret_cast<Function *>(address);
    return {};
  }

  Status loadAll(DriverApi &api) const { // NOLINT(readability-function-size): one line an entry
#define SMELT_DRIVER_FUNCTION(name, version) SMELT_RETURN_IF_ERROR(load(#name, version, api.name));
#include "runtime/driver_api.inc"
#undef SMELT_DRIVER_FUNCTION
    return {};
  }

private:
  PFN_cuGetProcAddress_v12000 getProcAddress;
};

Status checkDriver(const DriverApi &api) {
  CUresult result = api.cuInit(0);
  if (result == CUDA_ERROR_NO_DEVICE)
    return noDriver("it finds no GPU");
  if (result != CUDA_SUCCESS)
    return cudaFailure(api, result, "cuInit", "starting the driver");
  return {};
}

StatusCode codeOf(CUresult result) {
  switch (result) {
  case CUDA_ERROR_OUT_OF_MEMORY:
    return StatusCode::kResources;
  case CUDA_ERROR_NO_DEVICE:
  case CUDA_ERROR_INVALID_DEVICE:
  case CUDA_ERROR_DEVICE_NOT_LICENSED:
  case CUDA_ERROR_DEVICE_UNAVAILABLE:
  case CUDA_ERROR_NOT_INITIALIZED:
  case CUDA_ERROR_INVALID_IMAGE:
  case CUDA_ERROR_INVALID_SOURCE:
  case CUDA_ERROR_INVALID_PTX:
  case CUDA_ERROR_NO_BINARY_FOR_GPU:
  case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
  case CUDA_ERROR_STUB_LIBRARY:
  case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
  case CUDA_ERROR_SYSTEM_NOT_READY:
  case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
  case CUDA_ERROR_NOT_SUPPORTED:
    return StatusCode::kEnvironment;
  default:
    return StatusCode::kRunFailed;
  }
}

/// Errors after which every call of this process fails.
bool isDeviceLost(CUresult result) {
  switch (result) {
  case CUDA_ERROR_ILLEGAL_ADDRESS:
  case CUDA_ERROR_ILLEGAL_INSTRUCTION:
  case CUDA_ERROR_MISALIGNED_ADDRESS:
  case CUDA_ERROR_INVALID_ADDRESS_SPACE:
  case CUDA_ERROR_INVALID_PC:
  case CUDA_ERROR_HARDWARE_STACK_ERROR:
  case CUDA_ERROR_ECC_UNCORRECTABLE:
  case CUDA_ERROR_LAUNCH_FAILED:
  case CUDA_ERROR_LAUNCH_TIMEOUT:
    return true;
  default:
    return false;
  }
}

} // namespace

Result<Driver> openDriver() {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return noDriver(dlerror());
  auto getProcAddress =
      reinterpret_cast<PFN_cuGetProcAddress_v12000>(dlsym(library, "cuGetProcAddress_v2"));
  if (getProcAddress == nullptr)
    return noDriver("the installed one is older than CUDA 12");
  auto api = std::make_shared<DriverApi>();
  SMELT_RETURN_IF_ERROR(DriverLoader(getProcAddress).loadAll(*api));
  SMELT_RETURN_IF_ERROR(checkDriver(*api));
  return Driver(std::move(api));
}

Status cudaFailure(const DriverApi &driver, CUresult result, const char *function,
                   const std::string &doing, std::source_location where) {
  const char *name = nullptr;
  const char *explanation = nullptr;
  driver.cuGetErrorName(result, &name);
  driver.cuGetErrorString(result, &explanation);
  std::string message =
      joinText(function, " failed while ", doing, ": ", name ? name : "unknown error", " (",
               explanation ? explanation : std::to_string(result), ")");
  if (isDeviceLost(result))
    message += "; the device is lost to this process, which must be started again";
  return Status(codeOf(result), std::move(message), where);
}

} // namespace smelt::runtime
