// A plan with one of its kernels compiled from other CUDA text.
#pragma once

#include "codegen/cache.h"
#include "runtime/read_plan.h"

#include <map>
#include <string>
#include <vector>

namespace smelt::tools {

/// The entry of the kernel that `name` means: an entry, or a part of one entry alone. Fails with
/// kUsage, naming the kernels, where there is none or more than one.
Result<std::string> findKernel(const runtime::Plan &plan, const std::string &name);

/// The module of the kernel called `entry`; null where the program has none.
const plan::ModuleT *moduleOf(const plan::ProgramT &program, const std::string &entry);

/// A kernel's new text, and what it became for each program that has the kernel.
struct KernelPatch {
  std::string entry;
  std::string text;
  std::map<std::string, codegen::CompiledKernel> compiled; ///< by architecture
};

/// Compiles `text` for each architecture that the plan has the kernel for. Fails with kUsage where
/// NVRTC refuses it, or where it does not define the kernel `entry` with the parameters that the
/// plan passes; with kEnvironment without NVRTC.
Result<KernelPatch> compilePatch(const runtime::Plan &plan, const std::string &entry,
                                 std::string text, const std::string &nvrtcPath);

/// Writes the plan with the patch in it to `path`, which may be the plan's own, atomically. `record`
/// says in plan and `smelt inspect` how it was judged, by architecture.
Status writePatched(const runtime::Plan &plan, const KernelPatch &patch,
                    const std::map<std::string, std::string> &record, const std::string &path);

} // namespace smelt::tools
