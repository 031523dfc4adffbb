// The fake driver as a libcuda.so.1, so that programs that know nothing of it run plans without a
// GPU, through the very path on which they would open the real driver. The kernels of test plans
// compute; those of other plans leave their results as they find them.

#include "tests/runtime/fake_model.h"
#include "tests/runtime/idle_kernels.h"

#include <cstring>

namespace smelt::runtime {
namespace {

/// One device for the whole process, as the real library has it.
FakeDriver &fakeDriver() {
  static FakeDriver fake;
  return fake;
}

/// On which a graph was launched last.
CUstream lastStream = nullptr;

const DriverApi &api() {
  static FakeDriver &fake = fakeDriver();
  static const Driver table = [] {
    test::addKernels(fake);
    auto driver = std::make_shared<DriverApi>(*fake.driver());
    driver->cuModuleLoadDataEx =
        [load = driver->cuModuleLoadDataEx](CUmodule *module, const void *code, unsigned count,
                                            CUjit_option *options, void **values) {
          test::addIdleKernels(fake, code);
          return load(module, code, count, options, values);
        };
    driver->cuGraphLaunch = [launch = driver->cuGraphLaunch](CUgraphExec graph, CUstream stream) {
      lastStream = stream;
      return launch(graph, stream);
    };
    return Driver(driver);
  }();
  return *table;
}

/// A plain function for each entry of the table.
template <typename Function> struct Exported;
template <typename... Arguments> struct Exported<CUresult(Arguments...)> {
  template <std::function<CUresult(Arguments...)> DriverApi::*entry>
  static CUresult call(Arguments... arguments) {
    return (api().*entry)(arguments...);
  }
};

} // namespace
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

extern "C" __attribute__((visibility("default"))) CUresult
cuGetProcAddress_v2(const char *symbol, void **function, int requested, cuuint64_t,
                    CUdriverProcAddressQueryResult *found) {
  using smelt::runtime::DriverApi;
  *function = nullptr;
#define SMELT_DRIVER_FUNCTION(name, version)                                                       \
  if (std::strcmp(symbol, #name) == 0 && requested == version)                                     \
    *function = reinterpret_cast<void *>(                                                          \
        &smelt::runtime::Exported<std::remove_pointer_t<PFN_##name##_v##version>>::template call<  \
            &DriverApi::name>);
#include "runtime/driver_api.inc"
#undef SMELT_DRIVER_FUNCTION
  *found = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return CUDA_SUCCESS;
}
