// The CUDA text of a plan's kernels, and what was changed about them.
#pragma once

#include "runtime/read_plan.h"

#include "llvm/Support/JSON.h"

#include <string>

namespace smelt::tools {

/// The text of the kernel that `name` means (patch_plan.h), as it stands in the plan: the same for
/// each architecture that has it.
Result<std::string> kernelSource(const runtime::Plan &plan, const std::string &name);

/// "patched: KERNEL on sm_90a: checked on ..." for each kernel that was changed since it was generated.
std::string patchesText(const plan::MetadataT &metadata);
llvm::json::Array patchesJson(const plan::MetadataT &metadata);

} // namespace smelt::tools
