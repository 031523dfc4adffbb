// smelt inspect: what a plan takes, gives, needs and launches.
#include "runtime/launch_table.h"
#include "runtime/read_plan.h"
#include "runtime/shape_program.h"
#include "runtime/text.h"
#include "runtime/update_weight.h"
#include "tools/smelt/commands.h"
#include "tools/smelt/kernel_source.h"
#include "tools/smelt/report.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <limits>

namespace smelt::tools {

namespace {
struct Flags {
  std::string path;
  std::string source;
  bool json = false;
};
} // namespace

static uint64_t weightBytes(const plan::MetadataT &metadata) {
  uint64_t bytes = 0;
  for (const auto &weight : metadata.weights)
    bytes += weight->data.size();
  return bytes;
}

static llvm::json::Array portsJson(const std::vector<Port> &ports) {
  llvm::json::Array list;
  for (const Port &port : ports) {
    llvm::json::Array shape;
    for (const Extent &extent : port.shape)
      shape.push_back(extent.constant ? llvm::json::Value(*extent.constant)
                                      : llvm::json::Value(extent.text));
    llvm::json::Object object{{"name", port.name},
                              {"type", std::string(typeName(port.type))},
                              {"shape", std::move(shape)}};
    if (port.bound)
      object["row_bound"] = *port.bound;
    list.push_back(std::move(object));
  }
  return list;
}

/// What became of the model's initializers, and whether an engine can be given others.
static llvm::json::Array initializersJson(const plan::MetadataT &metadata) {
  llvm::json::Array list;
  for (const auto &initializer : metadata.initializers) {
    llvm::json::Array weights;
    for (const auto &part : initializer->parts)
      weights.push_back(metadata.weights[part->weight]->name);
    list.push_back(llvm::json::Object{
        {"name", initializer->name},
        {"type", std::string(typeName(initializer->element_type))},
        {"shape", llvm::json::Array(initializer->shape)},
        {"weights", std::move(weights)},
        {"copied", initializer->refusal.empty() && runtime::isUpdatedByCopies(*initializer)},
        {"refusal", initializer->refusal.empty() ? llvm::json::Value(nullptr)
                                                 : llvm::json::Value(initializer->refusal)}});
  }
  return list;
}

/// "" for a plan that names none.
static std::string initializersText(const plan::MetadataT &metadata) {
  size_t updatable = 0;
  for (const auto &initializer : metadata.initializers)
    updatable += initializer->refusal.empty();
  if (metadata.initializers.empty())
    return "";
  return joinText("weights: ", updatable, " of the model's ", metadata.initializers.size(),
                  " initializers can be updated; --json says which, and why not the others");
}

static std::string dimOrDash(const plan::MetadataT &metadata, uint32_t dim) {
  return dim == plan::kNone ? "-" : runtime::dimText(metadata, dim);
}

static std::string gridText(const plan::MetadataT &metadata, const plan::LaunchT &launch) {
  const plan::KernelNodeT *kernel = launch.node.AsKernelNode();
  if (kernel == nullptr)
    return "-";
  return joinText(runtime::dimText(metadata, kernel->grid.x()), ", ",
                  runtime::dimText(metadata, kernel->grid.y()), ", ",
                  runtime::dimText(metadata, kernel->grid.z()));
}

/// "33 to 256 rows"; "-" where the variant runs at every shape.
static std::string ruleText(const plan::SizeRuleT *rule) {
  if (rule == nullptr)
    return "-";
  std::string text = std::to_string(rule->first);
  if (rule->last == std::numeric_limits<int64_t>::max())
    text += " or more";
  else if (rule->last != rule->first)
    text += " to " + std::to_string(rule->last);
  return rule->unit.empty() ? text : text + " " + rule->unit;
}

static llvm::json::Object launchJson(const plan::MetadataT &metadata, const plan::ProgramT &program,
                                     const plan::StepT &step, const plan::LaunchT &launch) {
  llvm::json::Object object{{"name", launch.name},
                            {"bytes", dimOrDash(metadata, launch.bytes)},
                            {"flops", dimOrDash(metadata, launch.flops)},
                            {"onnx_nodes", llvm::json::Array(step.onnx_nodes)}};
  if (const plan::KernelNodeT *kernel = launch.node.AsKernelNode()) {
    object["entry"] = program.kernels[kernel->kernel]->entry;
    object["grid"] = gridText(metadata, launch);
    object["block"] = static_cast<int64_t>(kernel->block.x());
    object["shared_bytes"] = static_cast<int64_t>(kernel->shared_bytes);
  }
  return object;
}

/// `visit` is called for each launch of each variant of each step, in order.
static void forEachLaunch(const plan::ProgramT &program,
                          llvm::function_ref<void(const plan::StepT &, const plan::VariantT &,
                                                  const plan::LaunchT &, bool runsOnce)>
                              visit) {
  for (const auto *steps : {&program.once, &program.steps})
    for (const auto &step : *steps)
      for (const auto &variant : step->variants)
        for (const auto &launch : variant->launches)
          visit(*step, *variant, *launch, steps == &program.once);
}

static llvm::json::Array programsJson(const plan::MetadataT &metadata) {
  llvm::json::Array programs;
  for (const auto &program : metadata.programs) {
    llvm::json::Array launches;
    const plan::StepT *last = nullptr;
    int64_t number = -1; // of the step: of its variants the first whose rule holds runs
    forEachLaunch(*program, [&](const plan::StepT &step, const plan::VariantT &variant,
                                const plan::LaunchT &launch, bool runsOnce) {
      llvm::json::Object object = launchJson(metadata, *program, step, launch);
      if (variant.rule)
        object["rule"] =
            llvm::json::Object{{"value", runtime::dimText(metadata, variant.rule->value)},
                               {"first", variant.rule->first},
                               {"last", variant.rule->last == std::numeric_limits<int64_t>::max()
                                            ? llvm::json::Value(nullptr)
                                            : llvm::json::Value(variant.rule->last)},
                               {"text", ruleText(variant.rule.get())}};
      number += &step != last;
      last = &step;
      object["step"] = number;
      object["once"] = runsOnce;
      launches.push_back(std::move(object));
    });
    programs.push_back(
        llvm::json::Object{{"arch", program->arch},
                           {"kernels", static_cast<int64_t>(program->kernels.size())},
                           {"arena_slots", static_cast<int64_t>(program->arena_slots)},
                           {"steps", static_cast<int64_t>(program->steps.size())},
                           {"launches", std::move(launches)}});
  }
  return programs;
}

static void printPorts(const char *role, const std::vector<Port> &ports) {
  for (const Port &port : ports)
    print(joinText(role, " ", port.name, ": ", typeText(port)));
}

static void printText(const runtime::Plan &plan, const Signature &signature) {
  const plan::MetadataT &metadata = plan.metadata();
  print(joinText("model ", metadata.model_name, ", compiled by Smelt ", metadata.smelt_version));
  printPorts("input", signature.inputs);
  printPorts("output", signature.outputs);
  for (const auto &guard : metadata.guards)
    print(joinText("needs ", runtime::dimText(metadata, guard->left),
                   guard->relation == plan::Relation::equal ? " = " : " <= ",
                   runtime::dimText(metadata, guard->right)));
  print(joinText("memory: ", bytesText(static_cast<double>(plan.fileBytes())), " file, ",
                 bytesText(static_cast<double>(weightBytes(metadata))), " weights"));
  if (std::string initializers = initializersText(metadata); !initializers.empty())
    print(initializers);
  if (std::string patches = patchesText(metadata); !patches.empty())
    print(patches);
  for (const auto &program : metadata.programs) {
    print(joinText("\n", program->arch, ": ", runtime::countLaunches(*program), " launches of ",
                   program->kernels.size(), " kernels for ", program->steps.size(), " steps, ",
                   program->arena_slots, " arena slots for intermediate values"));
    Table table({"#", "launch", "runs at", "grid", "block", "shared bytes", "ONNX nodes"});
    size_t number = 0;
    forEachLaunch(*program, [&](const plan::StepT &step, const plan::VariantT &variant,
                                const plan::LaunchT &launch, bool runsOnce) {
      const plan::KernelNodeT *kernel = launch.node.AsKernelNode();
      std::string rule = ruleText(variant.rule.get());
      table.add({std::to_string(number++), launch.name, runsOnce ? "once a shape" : rule,
                 gridText(metadata, launch), kernel ? std::to_string(kernel->block.x()) : "-",
                 kernel ? std::to_string(kernel->shared_bytes) : "-",
                 llvm::join(step.onnx_nodes, " ")});
    });
    table.print();
  }
}

static Status inspect(const Flags &flags) {
  SMELT_ASSIGN_OR_RETURN(runtime::Plan plan, runtime::readPlan(flags.path));
  const plan::MetadataT &metadata = plan.metadata();
  Signature signature = signatureOf(metadata);
  if (!flags.source.empty()) {
    SMELT_ASSIGN_OR_RETURN(std::string text, kernelSource(plan, flags.source));
    llvm::outs() << text;
    return {};
  }
  if (!flags.json) {
    printText(plan, signature);
    return {};
  }
  printJson(llvm::json::Object{{"schema", "smelt.inspect/1"},
                               {"plan", flags.path},
                               {"model", metadata.model_name},
                               {"smelt_version", metadata.smelt_version},
                               {"inputs", portsJson(signature.inputs)},
                               {"outputs", portsJson(signature.outputs)},
                               {"file_bytes", static_cast<int64_t>(plan.fileBytes())},
                               {"weight_bytes", static_cast<int64_t>(weightBytes(metadata))},
                               {"initializers", initializersJson(metadata)},
                               {"patches", patchesJson(metadata)},
                               {"programs", programsJson(metadata)}});
  return {};
}

void addInspect(CommandLine &line) {
  auto flags = std::make_shared<Flags>();
  Command command = line.add("inspect", "Show a plan's inputs, outputs, memory and kernels",
                             [flags] { return inspect(*flags); });
  command.argument("plan", flags->path, "The .plan file");
  command.text(
      "--source", flags->source,
      "Print the CUDA text of this kernel, named by its entry or a part of it that no other "
      "has, instead");
  addJson(command, flags->json);
  command.footer("examples:\n"
                 "  smelt inspect model.plan\n"
                 "  smelt inspect model.plan --source gemm_gelu > gelu.cu");
}

} // namespace smelt::tools
