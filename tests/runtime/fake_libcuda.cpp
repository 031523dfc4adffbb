// The fake driver as a libcuda.so.1, so that programs that know nothing of it run plans without a
// GPU, through the very path on which they would open the real driver. The kernels of test plans
// compute; those of other plans leave their results as they find them.

#include "runtime/fake_driver_exports.h"
#include "runtime/idle_kernels.h"
#include "tests/runtime/fake_model.h"

namespace smelt::runtime {

/// One device for the whole process, as the real library has it.
FakeDriver &fakeDriver() {
  static FakeDriver fake;
  return fake;
}

/// On which a graph was launched last.
CUstream lastStream = nullptr;

Driver exportedDriver() {
  static FakeDriver &fake = fakeDriver();
  static const Driver table = [] {
    test::addKernels(fake);
    auto driver = std::make_shared<DriverApi>(*driverOfAnyPlan(fake));
    driver->cuGraphLaunch = [launch = driver->cuGraphLaunch](CUgraphExec graph, CUstream stream) {
      lastStream = stream;
      return launch(graph, stream);
    };
    return Driver(driver);
  }();
  return table;
}

} // namespace smelt::runtime

// For the tests that open this library: how often a function was called, on which stream a graph was
// launched last, and a stream for callers.
extern "C" __attribute__((visibility("default"))) size_t smelt_fake_count(const char *function) {
  return smelt::runtime::fakeDriver().countOf(function);
}
extern "C" __attribute__((visibility("default"))) void *smelt_fake_last_stream() {
  return smelt::runtime::lastStream;
}
extern "C" __attribute__((visibility("default"))) void *smelt_fake_stream() {
  return smelt::runtime::fakeDriver().stream();
}
