// Kernels of any plan on the fake driver: they run and compute nothing.
#pragma once

#include "runtime/fake_driver.h"

namespace smelt::runtime {

/// The kernels of a cubin or of PTX by name, with the parameters that it says they have. The code must have been
/// verified, as the runtime does.
std::map<std::string, FakeKernel> idleKernels(const void *code);

/// Declares those that the driver does not know yet.
void addIdleKernels(FakeDriver &fake, const void *code);

/// The fake's table, whose modules declare their kernels by themselves. The fake must outlive it.
std::shared_ptr<DriverApi> driverOfAnyPlan(FakeDriver &fake);

} // namespace smelt::runtime
