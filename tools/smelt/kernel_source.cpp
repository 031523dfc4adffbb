#include "tools/smelt/kernel_source.h"

#include "runtime/text.h"
#include "tools/smelt/patch_plan.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace smelt::tools {

Result<std::string> kernelSource(const runtime::Plan &plan, const std::string &name) {
  SMELT_ASSIGN_OR_RETURN(std::string entry, findKernel(plan, name));
  for (const auto &program : plan.metadata().programs)
    if (const plan::ModuleT *module = moduleOf(*program, entry))
      return std::string(plan.source(*module));
  return Status(StatusCode::kPlan, "the plan has no text of " + entry);
}

static void
forEachPatch(const plan::MetadataT &metadata,
             llvm::function_ref<void(const plan::ProgramT &, const plan::ModuleT &)> visit) {
  for (const auto &program : metadata.programs)
    for (const auto &module : program->modules)
      if (!module->patch.empty())
        visit(*program, *module);
}

std::string patchesText(const plan::MetadataT &metadata) {
  std::string text;
  forEachPatch(metadata, [&](const plan::ProgramT &program, const plan::ModuleT &module) {
    text += joinText(text.empty() ? "" : "\n", "patched: ", module.name, " on ", program.arch, ", ",
                     module.patch);
  });
  return text;
}

llvm::json::Array patchesJson(const plan::MetadataT &metadata) {
  llvm::json::Array list;
  forEachPatch(metadata, [&](const plan::ProgramT &program, const plan::ModuleT &module) {
    list.push_back(llvm::json::Object{
        {"kernel", module.name}, {"arch", program.arch}, {"patch", module.patch}});
  });
  return list;
}

} // namespace smelt::tools
