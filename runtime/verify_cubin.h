// Whether the bytes of a cubin end where it says that it ends, and what it says of its kernels.
#pragma once

#include "runtime/status.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace smelt::runtime {

/// Fails with StatusCode::kPlan unless the bytes are an ELF file whose headers, sections and
/// segments lie within them. The driver takes a cubin by its address alone and believes it.
Status verifyCubin(std::span<const std::byte> cubin);

/// How many parameters the kernel `entry` takes, as the cubin's attributes say; nothing where they
/// say nothing. The cubin must have been verified.
std::optional<size_t> parameterCount(std::span<const std::byte> cubin, const std::string &entry);

/// The names of the kernels of a verified cubin.
std::vector<std::string> kernelsOf(std::span<const std::byte> cubin);

/// What the machine code of a kernel takes.
struct KernelResources {
  uint32_t registers = 0;  ///< of a thread
  uint32_t localBytes = 0; ///< of a thread: its stack, spilled registers among it
  uint32_t sharedBytes =
      0; ///< of a block, beside dynamic memory; what the system reserves is part of it from 9.0 on
};

/// Of the kernel `entry`; nothing where the cubin does not say. The cubin must have been verified.
std::optional<KernelResources> resourcesOf(std::span<const std::byte> cubin,
                                           const std::string &entry);

} // namespace smelt::runtime
