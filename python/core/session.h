// Runs on the GPU.
#pragma once

#include <nanobind/nanobind.h>

namespace smelt::python {

void bindSession(nanobind::module_ &module);

} // namespace smelt::python
