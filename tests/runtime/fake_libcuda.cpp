// The fake driver as a libcuda.so.1, so that programs that know nothing of it run plans without a
// GPU, through the very path on which they would open the real driver. The kernels of test plans
// compute; those of other plans leave their results as they find them.

#include "runtime/fake_driver_exports.h"
#include "runtime/idle_kernels.h"
#include "tests/runtime/fake_model.h"

namespace smelt::runtime {

/// One device for the whole process, as the real library has it.
Driver exportedDriver() {
  static FakeDriver fake;
  static const Driver table = [] {
    test::addKernels(fake);
    return driverOfAnyPlan(fake);
  }();
  return table;
}

} // namespace smelt::runtime
