// smelt inspect: what a plan takes, gives, needs and launches.
#include "codegen/tuning.h"
#include "runtime/launch_table.h"
#include "runtime/read_plan.h"
#include "runtime/shape_program.h"
#include "runtime/text.h"
#include "runtime/weight_loops.h"
#include "tools/smelt/commands.h"
#include "tools/smelt/cuda_session.h"
#include "tools/smelt/dimensions.h"
#include "tools/smelt/inspect_shapes.h"
#include "tools/smelt/kernel_facts.h"
#include "tools/smelt/kernel_sets.h"
#include "tools/smelt/kernel_source.h"
#include "tools/smelt/load_plan.h"
#include "tools/smelt/plan_flags.h"
#include "tools/smelt/repeats.h"
#include "tools/smelt/report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <limits>

namespace smelt::tools {

namespace {
struct Flags {
  std::string path;
  std::string source;
  std::optional<size_t> kernel;
  std::vector<std::string> shapes, dimensions;
  std::string sweep;
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

/// How many launches have a tiling that was measured.
static size_t countTuned(const plan::MetadataT &metadata) {
  size_t tuned = 0;
  for (const auto &program : metadata.programs)
    for (const PlanLaunch &launch : launchesOf(*program))
      tuned += launch.launch->tuned;
  return tuned;
}

/// "" for a plan about which no times decided.
static std::string tuningText(const plan::MetadataT &metadata) {
  size_t tuned = countTuned(metadata);
  return tuned ? joinText("tilings: those of ", tuned, " launches by times measured on ",
                          codegen::Tuning::deviceIn(metadata.tuning))
               : "";
}

static llvm::json::Value tuningJson(const plan::MetadataT &metadata) {
  size_t tuned = countTuned(metadata);
  if (tuned == 0)
    return nullptr;
  return llvm::json::Object{{"device", codegen::Tuning::deviceIn(metadata.tuning)},
                            {"launches", static_cast<int64_t>(tuned)}};
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

static llvm::json::Object ruleJson(const plan::MetadataT &metadata, const plan::SizeRuleT &rule) {
  bool hasLast = rule.last != std::numeric_limits<int64_t>::max();
  return llvm::json::Object{
      {"value", runtime::dimText(metadata, rule.value)},
      {"first", rule.first},
      {"last", hasLast ? llvm::json::Value(rule.last) : llvm::json::Value(nullptr)},
      {"text", ruleText(&rule)}};
}

static llvm::json::Object launchJson(const runtime::Plan &plan, const plan::ProgramT &program,
                                     const PlanLaunch &shown) {
  const plan::MetadataT &metadata = plan.metadata();
  const plan::LaunchT &launch = *shown.launch;
  llvm::json::Object object{{"number", shown.number},
                            {"step", static_cast<int64_t>(shown.kernelNumber)},
                            {"once", shown.runsOnce},
                            {"name", launch.name},
                            {"bytes", dimOrDash(metadata, launch.bytes)},
                            {"flops", dimOrDash(metadata, launch.flops)},
                            {"onnx_nodes", llvm::json::Array(shown.step->onnx_nodes)}};
  if (const plan::KernelNodeT *kernel = launch.node.AsKernelNode()) {
    object["entry"] = program.kernels[kernel->kernel]->entry;
    object["grid"] = gridText(metadata, launch);
    object["block"] = static_cast<int64_t>(kernel->block.x());
    object["shared_bytes"] = static_cast<int64_t>(kernel->shared_bytes);
    object["tuned"] = launch.tuned;
  }
  if (shown.variant->rule)
    object["rule"] = ruleJson(metadata, *shown.variant->rule);
  if (std::optional<KernelFacts> facts = factsOf(plan, program, launch))
    object["machine_code"] = factsJson(*facts);
  return object;
}

static llvm::json::Array programsJson(const runtime::Plan &plan) {
  llvm::json::Array programs;
  for (const auto &program : plan.metadata().programs) {
    llvm::json::Array launches;
    for (const PlanLaunch &launch : launchesOf(*program))
      launches.push_back(launchJson(plan, *program, launch));
    programs.push_back(
        llvm::json::Object{{"arch", program->arch},
                           {"kernels", static_cast<int64_t>(program->kernels.size())},
                           {"arena_slots", static_cast<int64_t>(program->arena_slots)},
                           {"steps", static_cast<int64_t>(program->steps.size())},
                           {"launches", std::move(launches)}});
  }
  return programs;
}

static std::string blocksOf(const plan::MetadataT &metadata, const plan::KernelNodeT &kernel) {
  return blocksText({runtime::dimText(metadata, kernel.grid.x()),
                     runtime::dimText(metadata, kernel.grid.y()),
                     runtime::dimText(metadata, kernel.grid.z())});
}

static void printPorts(const char *role, const std::vector<Port> &ports) {
  for (const Port &port : ports)
    print(joinText(role, " ", port.name, ": ", typeText(port)));
}

static std::string factsCell(const std::optional<KernelFacts> &facts) {
  return facts ? joinText(facts->needs.registers, ", ",
                          numberText(100 * facts->occupancy.threads, 0), " %")
               : "-";
}

/// Everything about a launch but its number and its nodes.
static std::vector<std::string> cellsOf(const runtime::Plan &plan, const plan::ProgramT &program,
                                        const plan::LaunchT &launch) {
  const plan::KernelNodeT *kernel = launch.node.AsKernelNode();
  if (kernel == nullptr)
    return {launch.name, "-", "-", "-", "-"};
  std::optional<KernelFacts> facts = factsOf(plan, program, launch);
  uint32_t shared = facts ? facts->sharedBytes() : kernel->shared_bytes;
  return {launch.name, blocksOf(plan.metadata(), *kernel), std::to_string(kernel->block.x()),
          shared ? bytesText(shared) : "-", factsCell(facts)};
}

/// Layers that are alike are one row, with the number and the nodes of the first.
static void printSet(const runtime::Plan &plan, const plan::ProgramT &program,
                     const KernelSet &set) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> texts;
  for (size_t i = 0; i < set.launches.size(); ++i) {
    rows.push_back(cellsOf(plan, program, *set.launches[i].launch));
    rows.back().push_back(set.rules[i]);
    texts.push_back(llvm::join(rows.back(), "\n"));
  }
  print("\n" + set.sizes);
  Table table({"#", "times", "launch", "grid", "threads", "shared memory", "registers, occupancy",
               "runs", "ONNX nodes"});
  for (const Repeat &repeat : foldRepeats(texts))
    for (size_t i = repeat.first; i < repeat.first + repeat.period; ++i) {
      std::vector<std::string> cells{set.launches[i].number, "x " + std::to_string(repeat.count)};
      llvm::append_range(cells, rows[i]);
      cells.push_back(llvm::join(set.launches[i].step->onnx_nodes, " "));
      table.add(std::move(cells));
    }
  table.print();
}

static void printLaunch(const runtime::Plan &plan, const plan::ProgramT &program,
                        const PlanLaunch &shown) {
  const plan::MetadataT &metadata = plan.metadata();
  const plan::LaunchT &launch = *shown.launch;
  std::string rule = ruleText(shown.variant->rule.get());
  print(joinText(program.arch, " kernel ", shown.number, rule.empty() ? "" : ", at " + rule,
                 shown.runsOnce ? ", once a shape" : "", ": ", launch.name));
  print("  ONNX nodes  " + llvm::join(shown.step->onnx_nodes, " "));
  print(joinText("  bytes       ", dimOrDash(metadata, launch.bytes)));
  print(joinText("  flops       ", dimOrDash(metadata, launch.flops)));
  const plan::KernelNodeT *kernel = launch.node.AsKernelNode();
  if (kernel == nullptr)
    return;
  if (launch.tuned)
    print("  tiling      by measurement");
  print(joinText("  grid        ", blocksOf(metadata, *kernel), " of ", kernel->block.x(),
                 " threads"));
  if (std::optional<KernelFacts> facts = factsOf(plan, program, launch))
    print("  takes       " + factsText(*facts));
  print("  entry       " + program.kernels[kernel->kernel]->entry);
}

static void printText(const runtime::Plan &plan, const Signature &signature) {
  const plan::MetadataT &metadata = plan.metadata();
  std::string flags = planFlags(plan);
  print(joinText("model ", metadata.model_name, ", compiled by Smelt ", metadata.smelt_version,
                 flags == "none" ? "" : " with " + flags));
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
  if (std::string tuning = tuningText(metadata); !tuning.empty())
    print(tuning);
  for (const auto &program : metadata.programs) {
    print(joinText("\n", program->arch, ": ", program->once.size() + program->steps.size(),
                   " kernels by number, ", program->kernels.size(), " machine codes, ",
                   runtime::countLaunches(*program), " launches for all sizes"));
    for (const KernelSet &set : kernelSets(metadata, *program))
      printSet(plan, *program, set);
  }
}

/// One kernel of each program: all that is known of each of its launches.
static Status printKernel(const runtime::Plan &plan, size_t number) {
  const plan::MetadataT &metadata = plan.metadata();
  for (const auto &program : metadata.programs) {
    if (size_t count = program->once.size() + program->steps.size(); number >= count)
      return Status(StatusCode::kUsage, joinText("there is no kernel ", number, "; the plan has ",
                                                 count, ", the first of which is 0"));
    for (const PlanLaunch &launch : launchesOf(*program))
      if (launch.kernelNumber == number)
        printLaunch(plan, *program, launch);
  }
  return {};
}

static Status inspect(Flags flags) {
  SMELT_ASSIGN_OR_RETURN(runtime::Plan plan, readPlan(flags.path));
  const plan::MetadataT &metadata = plan.metadata();
  Signature signature = signatureOf(metadata);
  if (!flags.source.empty()) {
    SMELT_ASSIGN_OR_RETURN(std::string text, kernelSource(plan, flags.source));
    llvm::outs() << text;
    return {};
  }
  if (flags.kernel)
    return printKernel(plan, *flags.kernel);
  SMELT_RETURN_IF_ERROR(nameShapes(flags.path, flags.dimensions, flags.shapes));
  if (!flags.sweep.empty())
    return sweepPlan(plan, flags.path, flags.sweep, flags.shapes, flags.json);
  if (!flags.shapes.empty())
    return inspectAt(plan, flags.path, flags.shapes, flags.json);
  if (!flags.json) {
    printText(plan, signature);
    return {};
  }
  printJson(llvm::json::Object{{"schema", "smelt.inspect/1"},
                               {"plan", flags.path},
                               {"model", metadata.model_name},
                               {"smelt_version", metadata.smelt_version},
                               {"flags", planFlags(plan)},
                               {"inputs", portsJson(signature.inputs)},
                               {"outputs", portsJson(signature.outputs)},
                               {"file_bytes", static_cast<int64_t>(plan.fileBytes())},
                               {"weight_bytes", static_cast<int64_t>(weightBytes(metadata))},
                               {"initializers", initializersJson(metadata)},
                               {"patches", patchesJson(metadata)},
                               {"tuning", tuningJson(metadata)},
                               {"programs", programsJson(plan)}});
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
  command.parsed(
      "--kernel",
      [flags](const std::string &text) -> std::string {
        size_t number = 0;
        if (!llvm::to_integer(text, number, 10))
          return "'" + text + "' is no kernel's number";
        flags->kernel = number;
        return "";
      },
      "N", "Show all that is known of this kernel, by its number");
  command.texts("--shape", flags->shapes, "NAME=1x128",
                "Show the kernels that run at this shape, with their memory and roofline time "
                "(repeatable). Dimensions that none sets: 1 where they lead a shape, else 128");
  addDimensions(command, flags->dimensions);
  command.text("--sweep", flags->sweep,
               "Predict kernels, memory and roofline time for each size of a dimension: "
               "NAME=1..512, or NAME=1..512:8 for every eighth");
  addJson(command, flags->json);
  command.footer("examples:\n"
                 "  smelt inspect model.plan\n"
                 "  smelt inspect model.plan --dim batch=8\n"
                 "  smelt inspect model.plan --sweep seq=1..512\n"
                 "  smelt inspect model.plan --kernel 3\n"
                 "  smelt inspect model.plan --source gemm_gelu > gelu.cu");
}

} // namespace smelt::tools
