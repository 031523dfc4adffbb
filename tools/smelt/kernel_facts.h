// What a kernel's machine code takes, and how many of its blocks a multiprocessor holds for it. Read from the cubin: no
// device is needed.
#pragma once

#include "codegen/target.h"
#include "runtime/read_plan.h"

#include "llvm/Support/JSON.h"

#include <optional>
#include <string>

namespace smelt::tools {

struct KernelFacts {
  uint32_t registers = 0;   ///< of a thread
  uint32_t localBytes = 0;  ///< of a thread: its stack, where spilled registers lie
  uint32_t sharedBytes = 0; ///< of a block: static and dynamic, without what the system reserves
  uint32_t blocks = 0;      ///< that one multiprocessor holds at a time
  double occupancy = 0;     ///< its threads, over those that a multiprocessor can have
  std::string
      limitedBy; ///< what allows no more blocks: "registers", "shared memory", "threads" or "blocks"
};

/// Of a kernel launch of the program, `plan`'s own; nothing for copies, for PTX, which drivers translate, and for
/// code that does not say.
std::optional<KernelFacts> factsOf(const runtime::Plan &plan, const plan::ProgramT &program,
                                   const plan::LaunchT &launch);

/// "128 registers, 96.0 KiB of shared memory, 2 blocks on a multiprocessor (38 % of its threads, limited by registers)".
std::string factsText(const KernelFacts &facts);
llvm::json::Object factsJson(const KernelFacts &facts);

} // namespace smelt::tools
