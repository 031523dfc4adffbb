// The fake driver as a libcuda.so.1, so that programs that know nothing of it run plans without a
// GPU, through the very path on which they would open the real driver. The kernels of test plans
// compute; those of other plans leave their results as they find them.
//
// What kernels take and do otherwise is said by a file that SMELT_FAKE_KERNELS names, a line each, "ENTRY WHAT": the
// first line counts whose ENTRY the kernel's name begins with, or is *. WHAT is a number of microseconds, "shared" (a
// microsecond for each 64 bytes of shared memory), "crash", "hang", or "error", after which waiting fails.
//
// SMELT_FAKE_DEVICES is how many devices there seem to be, 1 unless set: they are one, by the name of the ordinal asked for.
//
// The file that SMELT_FAKE_LAUNCHES names gets a line for each stream at the end of the process: how many graphs were launched on it.

#include "runtime/fake_driver_exports.h"
#include "runtime/idle_kernels.h"
#include "tests/runtime/fake_model.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>

namespace smelt::runtime {

/// One device for the whole process, as the real library has it.
FakeDriver &fakeDriver() {
  static FakeDriver fake;
  return fake;
}

using KernelScript = std::vector<std::pair<std::string, std::string>>;

KernelScript readKernelScript(const char *path) {
  KernelScript script;
  std::ifstream file(path);
  for (std::string entry, what; file >> entry >> what;)
    script.emplace_back(entry, what);
  return script;
}

std::string whatOf(const KernelScript &script, const std::string &kernel) {
  for (const auto &[entry, what] : script)
    if (entry == "*" || kernel.starts_with(entry))
      return what;
  return "0";
}

/// Does what the script says of the kernel, and tells how many microseconds it takes.
double play(const KernelScript &script, const FakeKernelCall &call) {
  constexpr double kBytesAMicrosecond = 64;
  std::string what = whatOf(script, call.entry);
  if (what == "shared")
    return call.sharedBytes / kBytesAMicrosecond;
  if (what == "crash")
    std::raise(SIGKILL);
  while (what == "hang")
    std::this_thread::sleep_for(std::chrono::seconds(1));
  if (what == "error")
    fakeDriver().failCall("cuEventSynchronize", 0, CUDA_ERROR_ILLEGAL_ADDRESS);
  return what == "error" ? 0 : std::stod(what);
}

/// On which a graph was launched last.
CUstream lastStream = nullptr;

struct GraphLaunches {
  ~GraphLaunches() {
    const char *path = std::getenv("SMELT_FAKE_LAUNCHES");
    if (path == nullptr)
      return;
    std::ofstream file(path);
    for (const auto &[stream, count] : counts)
      file << count << '\n';
  }

  void add(CUstream stream) {
    std::lock_guard lock(mutex);
    ++counts[stream];
  }

private:
  std::mutex mutex;
  std::map<CUstream, size_t> counts;
};

/// Has the driver tell of so many devices.
void pretendDevices(DriverApi &driver, int count) {
  static int chosen = 0;
  driver.cuDeviceGetCount = [count](int *devices) { return *devices = count, CUDA_SUCCESS; };
  driver.cuDeviceGet = [count, get = driver.cuDeviceGet](CUdevice *device, int ordinal) {
    if (ordinal < 0 || ordinal >= count)
      return CUDA_ERROR_INVALID_DEVICE;
    chosen = ordinal;
    return get(device, 0);
  };
  driver.cuDeviceGetName = [](char *name, int length, CUdevice) {
    std::snprintf(name, static_cast<size_t>(length), "Fake GPU %d", chosen);
    return CUDA_SUCCESS;
  };
}

Driver exportedDriver() {
  static FakeDriver &fake = fakeDriver();
  static GraphLaunches launches;
  static const Driver table = [] {
    test::addKernels(fake);
    if (const char *path = std::getenv("SMELT_FAKE_KERNELS"))
      fake.setKernelTimes([script = readKernelScript(path)](const FakeKernelCall &call) {
        return play(script, call);
      });
    auto driver = std::make_shared<DriverApi>(*driverOfAnyPlan(fake));
    driver->cuGraphLaunch = [launch = driver->cuGraphLaunch](CUgraphExec graph, CUstream stream) {
      lastStream = stream;
      launches.add(stream);
      return launch(graph, stream);
    };
    if (const char *count = std::getenv("SMELT_FAKE_DEVICES"))
      pretendDevices(*driver, std::atoi(count));
    return Driver(driver);
  }();
  return table;
}

} // namespace smelt::runtime

// For the tests that open this library: how often a function was called, on which stream a graph was
// launched last, a stream for callers, and to have a call of a function return `result`: the n-th, counted from 0.
extern "C" __attribute__((visibility("default"))) size_t smelt_fake_count(const char *function) {
  return smelt::runtime::fakeDriver().countOf(function);
}
extern "C" __attribute__((visibility("default"))) void *smelt_fake_last_stream() {
  return smelt::runtime::lastStream;
}
extern "C" __attribute__((visibility("default"))) void *smelt_fake_stream() {
  return smelt::runtime::fakeDriver().stream();
}
extern "C" __attribute__((visibility("default"))) void smelt_fake_fail(const char *function,
                                                                       size_t n, int result) {
  smelt::runtime::fakeDriver().failCall(function, n, static_cast<CUresult>(result));
}
