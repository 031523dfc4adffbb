#include "runtime/driver.h"

#include "tests/runtime/fake_model.h"

#include <dlfcn.h>

namespace smelt::runtime {
namespace {

TEST(Driver, SaysWhatToDoWithoutADriver) {
  if (void *library = dlopen("libcuda.so.1", RTLD_NOW)) {
    dlclose(library);
    GTEST_SKIP() << "this machine has a CUDA driver";
  }
  EXPECT_TRUE(test::isRefused(openDriver().status(), StatusCode::kEnvironment,
                              "no usable CUDA driver: libcuda.so.1"));
  EXPECT_TRUE(test::isRefused(openDriver().status(), StatusCode::kEnvironment,
                              "install an NVIDIA driver for CUDA 12.4 or later"));
}

} // namespace
} // namespace smelt::runtime
