// Models on their way to plans.
#pragma once

#include <nanobind/nanobind.h>

namespace smelt::python {

void bindCompilation(nanobind::module_ &module);

} // namespace smelt::python
