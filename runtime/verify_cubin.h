// Whether the bytes of a cubin end where it says that it ends.
#pragma once

#include "runtime/status.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace smelt::runtime {

/// Fails with StatusCode::kPlan unless the bytes are an ELF file whose headers, sections and
/// segments lie within them. The driver takes a cubin by its address alone and believes it.
Status verifyCubin(std::span<const std::byte> cubin);

/// How many parameters the kernel `entry` takes, as the cubin's attributes say; nothing where they
/// say nothing. The cubin must have been verified.
std::optional<size_t> parameterCount(std::span<const std::byte> cubin, const std::string &entry);

} // namespace smelt::runtime
