// What makes a library with a fake driver a libcuda.so.1: the runtime asks it for functions by name
// as it asks the real one.
#pragma once

#include "runtime/driver.h"

namespace smelt::runtime {

/// The driver of the process, defined by each library that exports one.
Driver exportedDriver();

} // namespace smelt::runtime
