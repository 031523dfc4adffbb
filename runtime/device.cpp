#include "runtime/device.h"

#include "runtime/plan_format.h"
#include "runtime/text.h"

#include <array>
#include <utility>

namespace smelt::runtime {

Result<std::shared_ptr<const Device>> Device::open(Driver driver, int ordinal) {
  int count = 0;
  SMELT_RETURN_IF_CUDA_ERROR(*driver, "counting devices", cuDeviceGetCount, &count);
  if (ordinal < 0 || ordinal >= count)
    return Status(StatusCode::kEnvironment,
                  joinText("there is no CUDA device ", ordinal, "; the driver sees ", count));
  std::shared_ptr<Device> device(new Device(std::move(driver)));
  SMELT_RETURN_IF_CUDA_ERROR(device->api(), joinText("opening device ", ordinal), cuDeviceGet,
                             &device->handle, ordinal);
  SMELT_RETURN_IF_ERROR(device->query());
  SMELT_RETURN_IF_CUDA_ERROR(device->api(), "starting the device", cuDevicePrimaryCtxRetain,
                             &device->held, device->handle);
  device->isRetained = true;
  return std::shared_ptr<const Device>(std::move(device));
}

Result<std::shared_ptr<const Device>> Device::adopt(Driver driver, CUcontext context) {
  std::shared_ptr<Device> device(new Device(std::move(driver)));
  device->held = context;
  Result<CurrentContext> current = CurrentContext::enter(*device);
  if (!current.isOk())
    return Status(StatusCode::kUsage,
                  "cuda_context is no context that can be used: " + current.status().message());
  SMELT_RETURN_IF_CUDA_ERROR(device->api(), "asking for the context's device", cuCtxGetDevice,
                             &device->handle);
  SMELT_RETURN_IF_ERROR(device->query());
  return std::shared_ptr<const Device>(std::move(device));
}

Status Device::query() {
  std::array<char, 256> text = {};
  int major = 0, minor = 0;
  const char *doing = "asking for the device's properties";
  SMELT_RETURN_IF_CUDA_ERROR(*driver, doing, cuDeviceGetName, text.data(),
                             static_cast<int>(text.size() - 1), handle);
  SMELT_RETURN_IF_CUDA_ERROR(*driver, doing, cuDeviceGetAttribute, &major,
                             CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, handle);
  SMELT_RETURN_IF_CUDA_ERROR(*driver, doing, cuDeviceGetAttribute, &minor,
                             CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, handle);
  SMELT_RETURN_IF_CUDA_ERROR(*driver, doing, cuDeviceGetAttribute, &sharedBytes,
                             CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, handle);
  SMELT_ASSIGN_OR_RETURN(processors.count, attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  SMELT_ASSIGN_OR_RETURN(processors.sharedBytes,
                         attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR));
  SMELT_ASSIGN_OR_RETURN(processors.reservedBytes,
                         attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK));
  deviceName = text.data();
  capability = major * 10 + minor;
  return {};
}

Result<int> Device::attribute(CUdevice_attribute which) const {
  int value = 0;
  SMELT_RETURN_IF_CUDA_ERROR(*driver, "asking for the device's properties", cuDeviceGetAttribute,
                             &value, which, handle);
  return value;
}

Device::~Device() {
  if (isRetained)
    driver->cuDevicePrimaryCtxRelease(handle);
}

Result<CurrentContext> CurrentContext::enter(const Device &device) {
  const DriverApi &api = device.api();
  CUcontext current = nullptr;
  SMELT_RETURN_IF_CUDA_ERROR(api, "asking for the current context", cuCtxGetCurrent, &current);
  if (current == device.context())
    return CurrentContext(nullptr);
  SMELT_RETURN_IF_CUDA_ERROR(api, "making the device current", cuCtxPushCurrent, device.context());
  return CurrentContext(&api);
}

CurrentContext::~CurrentContext() {
  CUcontext popped = nullptr;
  if (pushedOn != nullptr)
    pushedOn->cuCtxPopCurrent(&popped);
}

RelaxedCapture::RelaxedCapture(const DriverApi &api)
    : api(api), isExchanged(api.cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS) {}

RelaxedCapture::~RelaxedCapture() {
  if (isExchanged)
    api.cuThreadExchangeStreamCaptureMode(&mode);
}

/// The default stream cannot capture, and asking it would disturb captures of other threads.
Result<bool> isCapturing(const DriverApi &api, CUstream stream) {
  if (stream == nullptr || stream == CU_STREAM_LEGACY)
    return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  SMELT_RETURN_IF_CUDA_ERROR(api, "asking whether the stream is capturing", cuStreamGetCaptureInfo,
                             stream, &status, nullptr, nullptr, nullptr, nullptr, nullptr);
  return status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

Result<OwnStream> OwnStream::create(const DriverApi &api) {
  CUstream handle = nullptr;
  SMELT_RETURN_IF_CUDA_ERROR(api, "creating a stream", cuStreamCreate, &handle,
                             CU_STREAM_NON_BLOCKING);
  return OwnStream(api, handle);
}

OwnStream::~OwnStream() {
  if (handle != nullptr)
    api.cuStreamDestroy(handle);
}

static Status outOfMemory(const DriverApi &api, uint64_t bytes, const char *purpose) {
  size_t available = 0, total = 0;
  std::string state;
  if (api.cuMemGetInfo(&available, &total) == CUDA_SUCCESS)
    state = joinText(": ", available >> 20, " of ", total >> 20, " MiB are free");
  return Status(StatusCode::kResources,
                joinText("out of device memory: ", purpose, " take ", (bytes >> 20) + 1, " MiB",
                         state, "; free some, or use smaller shapes"));
}

/// An address from the caller's allocator, which must keep the alignment that kernels rely on.
static Result<CUdeviceptr> allocateByCaller(const DriverApi &api, const DeviceAllocator &allocator,
                                            uint64_t bytes, const char *purpose) {
  CUdeviceptr address = allocator.allocate(bytes);
  if (address == 0)
    return outOfMemory(api, bytes, purpose);
  if (address % plan::kWeightBytes == 0)
    return address;
  allocator.release(address, bytes);
  return Status(StatusCode::kUsage, joinText("the caller's allocator returned an address that is "
                                             "not aligned to ",
                                             plan::kWeightBytes, " bytes"));
}

Result<DeviceMemory> DeviceMemory::allocate(SharedDevice device, const DeviceAllocator &allocator,
                                            uint64_t bytes, const char *purpose) {
  DeviceMemory memory;
  if (bytes == 0)
    return memory;
  const DriverApi &api = device->api();
  if (allocator.allocate) {
    SMELT_ASSIGN_OR_RETURN(memory.start, allocateByCaller(api, allocator, bytes, purpose));
  } else {
    CUresult result = api.cuMemAlloc(&memory.start, bytes);
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
      return outOfMemory(api, bytes, purpose);
    if (result != CUDA_SUCCESS)
      return cudaFailure(api, result, "cuMemAlloc", joinText("allocating ", purpose));
  }
  memory.size = bytes;
  memory.device = std::move(device);
  memory.allocator = allocator;
  return memory;
}

DeviceMemory::~DeviceMemory() {
  if (start == 0)
    return;
  Result<CurrentContext> current = CurrentContext::enter(*device);
  RelaxedCapture relaxed(device->api());
  if (allocator.release)
    allocator.release(start, size);
  else
    device->api().cuMemFree(start);
}

Result<PinnedMemory> PinnedMemory::allocate(SharedDevice device, uint64_t bytes) {
  PinnedMemory memory;
  if (bytes == 0)
    return memory;
  SMELT_RETURN_IF_CUDA_ERROR(device->api(), "allocating pinned host memory", cuMemHostAlloc,
                             &memory.start, bytes, 0);
  memory.device = std::move(device);
  return memory;
}

PinnedMemory::~PinnedMemory() {
  if (start == nullptr)
    return;
  Result<CurrentContext> current = CurrentContext::enter(*device);
  device->api().cuMemFreeHost(start);
}

void DeviceMemory::swap(DeviceMemory &other) noexcept {
  std::swap(device, other.device);
  std::swap(allocator, other.allocator);
  std::swap(start, other.start);
  std::swap(size, other.size);
}

} // namespace smelt::runtime
