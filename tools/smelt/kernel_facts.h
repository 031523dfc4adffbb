// What a kernel's machine code takes, and how many of its blocks a multiprocessor holds for it. Read from the cubin: no
// device is needed.
#pragma once

#include "codegen/occupancy.h"
#include "runtime/read_plan.h"

#include "llvm/Support/JSON.h"

#include <optional>
#include <span>
#include <string>

namespace smelt::tools {

struct KernelFacts {
  uint32_t localBytes = 0; ///< of a thread: its stack, where spilled registers lie
  codegen::BlockNeeds needs;
  codegen::Occupancy occupancy;

  /// Of a block, without what the system reserves.
  uint32_t sharedBytes() const { return needs.staticSharedBytes + needs.dynamicSharedBytes; }
};

/// Of the kernel `entry` of a verified cubin for `target`, in blocks of so many threads with so much dynamic shared memory;
/// nothing for PTX, which drivers translate, and for code that does not say.
std::optional<KernelFacts> factsOf(std::span<const std::byte> code, const std::string &entry,
                                   const codegen::Target &target, uint32_t threads,
                                   uint32_t dynamicSharedBytes);

/// Of a kernel launch of the program, `plan`'s own; nothing for copies, too.
std::optional<KernelFacts> factsOf(const runtime::Plan &plan, const plan::ProgramT &program,
                                   const plan::LaunchT &launch);

/// "128 registers, 96.0 KiB of shared memory, 2 blocks on a multiprocessor (38 % of its threads, limited by registers)".
std::string factsText(const KernelFacts &facts);
llvm::json::Object factsJson(const KernelFacts &facts);

} // namespace smelt::tools
