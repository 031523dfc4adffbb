// Whether the bytes of a cubin end where it says that it ends.
#pragma once

#include "runtime/status.h"

#include <cstddef>
#include <span>

namespace smelt::runtime {

/// Fails with StatusCode::kPlan unless the bytes are an ELF file whose headers, sections and
/// segments lie within them. The driver takes a cubin by its address alone and believes it.
Status verifyCubin(std::span<const std::byte> cubin);

} // namespace smelt::runtime
