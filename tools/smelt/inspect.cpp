// smelt inspect: what a plan takes, gives, needs and launches.
#include "runtime/read_plan.h"
#include "runtime/shape_program.h"
#include "runtime/text.h"
#include "tools/smelt/commands.h"
#include "tools/smelt/report.h"

#include "llvm/ADT/StringExtras.h"

namespace smelt::tools {

namespace {
struct Flags {
  std::string path;
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

static std::string dimOrDash(const plan::MetadataT &metadata, uint32_t dim) {
  return dim == plan::kNone ? "-" : runtime::dimText(metadata, dim);
}

static std::string gridText(const plan::MetadataT &metadata, const plan::LaunchT &launch) {
  return joinText(runtime::dimText(metadata, launch.grid.x()), ", ",
                  runtime::dimText(metadata, launch.grid.y()), ", ",
                  runtime::dimText(metadata, launch.grid.z()));
}

static llvm::json::Array programsJson(const plan::MetadataT &metadata) {
  llvm::json::Array programs;
  for (const auto &program : metadata.programs) {
    llvm::json::Array launches;
    for (const auto &launch : program->launches)
      launches.push_back(
          llvm::json::Object{{"name", launch->name},
                             {"entry", program->kernels[launch->kernel]->entry},
                             {"grid", gridText(metadata, *launch)},
                             {"block", static_cast<int64_t>(launch->block.x())},
                             {"shared_bytes", static_cast<int64_t>(launch->shared_bytes)},
                             {"bytes", dimOrDash(metadata, launch->bytes)},
                             {"flops", dimOrDash(metadata, launch->flops)},
                             {"onnx_nodes", llvm::json::Array(launch->onnx_nodes)}});
    programs.push_back(
        llvm::json::Object{{"arch", program->arch},
                           {"kernels", static_cast<int64_t>(program->kernels.size())},
                           {"arena_slots", static_cast<int64_t>(program->arena_slots)},
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
  for (const auto &program : metadata.programs) {
    print(joinText("\n", program->arch, ": ", program->launches.size(), " launches of ",
                   program->kernels.size(), " kernels, ", program->arena_slots,
                   " arena slots for intermediate values"));
    Table table({"#", "launch", "grid", "block", "shared bytes", "ONNX nodes"});
    for (size_t i = 0; i < program->launches.size(); ++i) {
      const plan::LaunchT &launch = *program->launches[i];
      table.add({std::to_string(i), launch.name, gridText(metadata, launch),
                 std::to_string(launch.block.x()), std::to_string(launch.shared_bytes),
                 llvm::join(launch.onnx_nodes, " ")});
    }
    table.print();
  }
}

static Status inspect(const Flags &flags) {
  SMELT_ASSIGN_OR_RETURN(runtime::Plan plan, runtime::readPlan(flags.path));
  const plan::MetadataT &metadata = plan.metadata();
  Signature signature = signatureOf(metadata);
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
                               {"programs", programsJson(metadata)}});
  return {};
}

void addInspect(CLI::App &app, Status &status) {
  auto flags = std::make_shared<Flags>();
  CLI::App *command =
      app.add_subcommand("inspect", "Show a plan's inputs, outputs, memory and kernels");
  command->add_option("plan", flags->path, "The .plan file")->required();
  addJson(*command, flags->json);
  command->footer("example:\n  smelt inspect model.plan");
  command->callback([flags, &status] { status = inspect(*flags); });
}

} // namespace smelt::tools
