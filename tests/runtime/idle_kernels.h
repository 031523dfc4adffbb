// Kernels of any plan on the fake driver: they run and compute nothing.
#pragma once

#include "runtime/fake_driver.h"

namespace smelt::test {

/// Declares the kernels of a cubin or of PTX that the driver does not know yet, with the parameters
/// that it says they have.
void addIdleKernels(runtime::FakeDriver &fake, const void *code);

} // namespace smelt::test
