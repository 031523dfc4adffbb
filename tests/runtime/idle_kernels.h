// Kernels of any plan on the fake driver: they run and compute nothing.
#pragma once

#include "runtime/fake_driver.h"

namespace smelt::test {

/// Declares the kernels of a cubin that the driver does not know yet, with the parameters that the
/// cubin says they have.
void addIdleKernels(runtime::FakeDriver &fake, const void *cubin);

} // namespace smelt::test
