// Runs, on the GPU or on the CPU.
#pragma once

#include <nanobind/nanobind.h>

namespace smelt::python {

void bindSession(nanobind::module_ &module);

} // namespace smelt::python
