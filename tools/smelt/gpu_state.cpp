// The library is opened by its name, as the driver is; its header is not needed to build. Functions and numbers are those of NVML's
// API reference.
#include "tools/smelt/gpu_state.h"

#include <cstdio>
#include <dlfcn.h>

namespace smelt::tools {

namespace {

using NvmlDevice = struct NvmlDeviceHandle *;
constexpr int kSuccess = 0, kInsufficientSize = 7;
constexpr int kClockOfMultiprocessors = 1, kClockOfMemory = 2;
constexpr int kTemperatureOfGpu = 0;

/// Reasons for clocks below the highest that no user asked for.
constexpr std::pair<unsigned long long, const char *> kSlowdowns[] = {
    {0x04, "its power limit"},
    {0x08, "the hardware"},
    {0x20, "heat"},
    {0x40, "heat"},
    {0x80, "the power that it gets"}};

/// nvmlProcessInfo_t of nvmlDeviceGetComputeRunningProcesses_v3.
struct ProcessInfo {
  unsigned pid;
  unsigned long long memory;
  unsigned gpuInstance, computeInstance;
};

/// The library, open.
class Nvml {
public:
  Nvml() : library(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
    auto start = find<int()>("nvmlInit_v2");
    isReady = start != nullptr && start() == kSuccess;
  }
  ~Nvml() {
    if (auto stop = find<int()>("nvmlShutdown"); stop && isReady)
      stop();
    if (library)
      dlclose(library);
  }
  Nvml(const Nvml &) = delete;

  /// Whether the function is there and succeeded.
  template <typename... Arguments> bool call(const char *name, Arguments... arguments) const {
    auto function = find<int(Arguments...)>(name);
    return isReady && function && function(arguments...) == kSuccess;
  }
  size_t processesOn(NvmlDevice device) const {
    using Count = int(NvmlDevice, unsigned *, ProcessInfo *);
    auto list = find<Count>("nvmlDeviceGetComputeRunningProcesses_v3");
    unsigned count = 0; // with no room, the library says how many there are
    int result = list ? list(device, &count, nullptr) : kSuccess;
    return result == kSuccess || result == kInsufficientSize ? count : 0;
  }

private:
  template <typename Function> Function *find(const char *name) const {
    return library ? reinterpret_cast<Function *>(dlsym(library, name)) : nullptr;
  }

  void *library;
  bool isReady = false;
};

/// "00000000:81:00.0"
std::string busIdOf(const runtime::Device &device) {
  char text[32] = "";
  Result<int> domain = device.attribute(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
  Result<int> bus = device.attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
  Result<int> slot = device.attribute(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
  if (domain.isOk() && bus.isOk() && slot.isOk())
    std::snprintf(text, sizeof(text), "%08x:%02x:%02x.0", unsigned(*domain), unsigned(*bus),
                  unsigned(*slot));
  return text;
}

} // namespace

std::optional<GpuState> readGpuState(const runtime::Device &device) {
  Nvml nvml;
  NvmlDevice handle = nullptr;
  std::string bus = busIdOf(device);
  if (!nvml.call("nvmlDeviceGetHandleByPciBusId_v2", bus.c_str(), &handle))
    return std::nullopt;
  GpuState state;
  nvml.call("nvmlDeviceGetClockInfo", handle, kClockOfMultiprocessors, &state.clockMhz);
  nvml.call("nvmlDeviceGetMaxClockInfo", handle, kClockOfMultiprocessors, &state.highestClockMhz);
  nvml.call("nvmlDeviceGetClockInfo", handle, kClockOfMemory, &state.memoryClockMhz);
  nvml.call("nvmlDeviceGetTemperature", handle, kTemperatureOfGpu, &state.celsius);
  unsigned long long reasons = 0;
  nvml.call("nvmlDeviceGetCurrentClocksThrottleReasons", handle, &reasons);
  for (auto [reason, name] : kSlowdowns)
    if (reasons & reason)
      state.slowedBy.push_back(name);
  state.processes = nvml.processesOn(handle);
  return state;
}

} // namespace smelt::tools
