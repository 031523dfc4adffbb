// Whether the bytes of a module are PTX that the driver may be handed by its address alone.
#pragma once

#include "runtime/status.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace smelt::runtime {

/// Fails with StatusCode::kPlan unless the bytes are text with the directive that begins every PTX
/// module, and end with their only NUL, where the driver stops to read.
Status verifyPtx(std::span<const std::byte> ptx);

/// How many parameters the kernel `entry` takes, as its declaration says; nothing where there is no
/// such kernel. The text must have been verified.
std::optional<size_t> ptxParameterCount(std::span<const std::byte> ptx, const std::string &entry);

} // namespace smelt::runtime
