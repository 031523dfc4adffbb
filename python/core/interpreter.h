// Runs on the CPU.
#pragma once

#include <nanobind/nanobind.h>

namespace smelt::python {

void bindInterpreter(nanobind::module_ &module);

} // namespace smelt::python
