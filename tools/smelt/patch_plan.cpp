#include "tools/smelt/patch_plan.h"

#include "codegen/nvrtc.h"
#include "codegen/target.h"
#include "codegen/write_plan.h"
#include "runtime/text.h"
#include "runtime/verify_cubin.h"
#include "runtime/verify_ptx.h"

#include <algorithm>
#include <set>

namespace smelt::tools {

using runtime::Plan;

static std::string joinNames(const std::set<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += "\n  " + name;
  return text;
}

Result<std::string> findKernel(const Plan &plan, const std::string &name) {
  std::set<std::string> all, matching;
  for (const auto &program : plan.metadata().programs)
    for (const auto &kernel : program->kernels) {
      all.insert(kernel->entry);
      if (kernel->entry.find(name) != std::string::npos)
        matching.insert(kernel->entry);
    }
  if (all.contains(name))
    return name;
  if (matching.size() == 1)
    return *matching.begin();
  if (matching.empty())
    return Status(StatusCode::kUsage,
                  joinText("the plan has no kernel '", name, "'; its kernels are", joinNames(all)));
  return Status(StatusCode::kUsage, joinText("'", name, "' is a part of the names of ",
                                             matching.size(), " kernels:", joinNames(matching)));
}

const plan::ModuleT *moduleOf(const plan::ProgramT &program, const std::string &entry) {
  for (const auto &kernel : program.kernels)
    if (kernel->entry == entry)
      return program.modules[kernel->module_index].get();
  return nullptr;
}

/// How many arguments the plan passes to the kernel, which is the same at every launch; none where
/// it is not launched.
static std::optional<size_t> argumentCount(const plan::ProgramT &program,
                                           const std::string &entry) {
  for (const auto *steps : {&program.once, &program.steps})
    for (const auto &step : *steps)
      for (const auto &variant : step->variants)
        for (const auto &launch : variant->launches)
          if (const plan::KernelNodeT *node = launch->node.AsKernelNode())
            if (program.kernels[node->kernel]->entry == entry)
              return node->arguments.size();
  return std::nullopt;
}

static Status checkParameters(const plan::ProgramT &program, const std::string &entry,
                              const std::string &code) {
  auto bytes = std::as_bytes(std::span(code));
  std::optional<size_t> count = codegen::Target::isPtx(program.arch)
                                    ? runtime::ptxParameterCount(bytes, entry)
                                    : runtime::parameterCount(bytes, entry);
  if (!count)
    return Status(StatusCode::kUsage,
                  joinText("the text defines no kernel `extern \"C\" __global__ void ", entry,
                           "(...)` with parameters, which is what the plan launches"));
  std::optional<size_t> passed = argumentCount(program, entry);
  if (passed && *passed != *count)
    return Status(StatusCode::kUsage,
                  joinText(entry, " takes ", *count,
                           " parameters in the text, and the plan passes ", *passed,
                           "; keep the signature that `smelt inspect --source` shows"));
  return {};
}

Result<KernelPatch> compilePatch(const Plan &plan, const std::string &entry, std::string text,
                                 const std::string &nvrtcPath) {
  auto nvrtc = codegen::Nvrtc::open(nvrtcPath);
  if (!nvrtc)
    return Status(StatusCode::kEnvironment, llvm::toString(nvrtc.takeError()));
  KernelPatch patch{entry, std::move(text), {}};
  codegen::KernelText kernel{entry, patch.text, "the text given for " + entry};
  for (const auto &program : plan.metadata().programs) {
    if (moduleOf(*program, entry) == nullptr)
      continue;
    auto compiled = (*nvrtc)->compile(kernel, program->arch);
    if (!compiled)
      return Status(StatusCode::kUsage, llvm::toString(compiled.takeError()));
    SMELT_RETURN_IF_ERROR(checkParameters(*program, entry, compiled->code));
    patch.compiled.emplace(program->arch, std::move(*compiled));
  }
  return patch;
}

/// A copy that can be changed.
static plan::MetadataT copyOf(const plan::MetadataT &metadata) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(plan::CreateMetadata(builder, &metadata));
  plan::MetadataT copy;
  plan::GetMetadata(builder.GetBufferPointer())->UnPackTo(&copy);
  return copy;
}

Status writePatched(const Plan &plan, const KernelPatch &patch,
                    const std::map<std::string, std::string> &record, const std::string &path) {
  codegen::PlanContents contents;
  contents.metadata = copyOf(plan.metadata());
  for (auto &program : contents.metadata.programs) {
    const plan::ModuleT *patched = moduleOf(*program, patch.entry);
    for (auto &module : program->modules) {
      bool isPatched = module.get() == patched;
      contents.codes.push_back(isPatched
                                   ? std::as_bytes(std::span(patch.compiled.at(program->arch).code))
                                   : plan.code(*module));
      contents.sources.push_back(isPatched ? patch.text : plan.source(*module));
      contents.fusions.push_back(plan.fusion(*module));
      if (isPatched)
        module->patch = record.at(program->arch);
    }
  }
  contents.ir = plan.ir();
  for (const auto &weight : plan.metadata().weights)
    contents.weights.push_back(codegen::WeightBytes::of(plan.bytes(*weight)));
  return codegen::writePlan(path, contents);
}

} // namespace smelt::tools
