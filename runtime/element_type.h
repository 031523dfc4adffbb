// What people call the element types.
#pragma once

#include "runtime/plan_format.h"

namespace smelt::runtime {

/// "float16", "int8", ...; null for what is no type.
const char *elementTypeName(plan::ElementType type);

} // namespace smelt::runtime
