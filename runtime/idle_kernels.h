// Kernels of any plan on the fake driver: they run and compute nothing.
#pragma once

#include "runtime/fake_driver.h"

namespace smelt::runtime {

/// Declares the kernels of a cubin or of PTX that the driver does not know yet, with the parameters
/// that it says they have. The code must have been verified, as the runtime does.
void addIdleKernels(FakeDriver &fake, const void *code);

/// The fake's table, whose modules declare their kernels by themselves. The fake must outlive it.
std::shared_ptr<DriverApi> driverOfAnyPlan(FakeDriver &fake);

} // namespace smelt::runtime
