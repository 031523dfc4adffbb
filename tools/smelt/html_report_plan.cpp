// What a plan says of itself, for a report.
#include "runtime/text.h"
#include "tools/smelt/cuda_session.h"
#include "tools/smelt/html_report_data.h"
#include "tools/smelt/peaks.h"

#include "compiler/explain.h"
#include "compiler/onnx_graph.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

namespace smelt::tools {

namespace {

/// Reads one program of a plan at one set of shapes.
class PlanReader {
public:
  PlanReader(const runtime::Plan &plan, const plan::ProgramT &program)
      : plan(plan), metadata(plan.metadata()), program(program), table(program) {}

  Result<ReportData> read(const std::vector<runtime::Shape> &shapes) {
    SMELT_ASSIGN_OR_RETURN(runtime::ShapeValues values, runtime::solveShapes(metadata, shapes));
    SMELT_ASSIGN_OR_RETURN(
        schedule, runtime::makeSchedule(metadata, table,
                                        std::make_shared<runtime::ShapeValues>(std::move(values))));
    addSummary();
    addSteps();
    addKernels();
    addBuffers();
    addLaunches(schedule.once, /*runsOnce=*/true);
    addLaunches(schedule.launches, /*runsOnce=*/false);
    addRemarks();
    addNames();
    return std::move(report);
  }

private:
  int64_t valueOf(uint32_t dim) const {
    return dim == plan::kNone ? 0 : schedule.shapes->dims[dim];
  }

  void addSummary() {
    report.model = metadata.model_name;
    report.compiler = metadata.smelt_version;
    report.arch = program.arch;
    for (const auto &other : metadata.programs)
      report.architectures.push_back(other->arch);
    compiler::Signature signature = signatureOf(metadata);
    for (auto [port, tensor] : llvm::zip(signature.inputs, metadata.inputs))
      report.inputs.push_back(
          {port.name, typeText(port), runtime::shapeOf(*tensor, *schedule.shapes)});
    for (auto [port, tensor] : llvm::zip(signature.outputs, metadata.outputs))
      report.outputs.push_back(
          {port.name, typeText(port), runtime::shapeOf(*tensor, *schedule.shapes)});
    report.planBytes = plan.fileBytes();
    for (const auto &weight : metadata.weights)
      report.weightBytes += weight->data.size();
    report.arenaBytes = schedule.arenaBytes;
    peaks = peaksOfPart(program.arch);
    if (peaks)
      report.part = peaks->target.part.name;
    else
      report.missing.push_back("Predicted times: no peaks are known for a GPU of " + program.arch +
                               ".");
  }

  void addSteps() {
    for (const auto *steps : {&program.once, &program.steps})
      for (const auto &step : *steps)
        report.steps.push_back({step->onnx_nodes, steps == &program.once});
  }

  void addKernels() {
    bool lacksSource = false;
    for (const auto &kernel : program.kernels) {
      std::string source(plan.source(*program.modules[kernel->module_index]));
      lacksSource |= source.empty();
      report.kernels.push_back({kernel->entry, std::move(source)});
    }
    if (lacksSource)
      report.missing.push_back("CUDA text: the plan holds none for some kernels.");
  }

  void addBuffers() {
    for (const auto &buffer : program.buffers) {
      ReportBuffer item{buffer->kind, "", 0, 0, {}};
      if (buffer->kind == plan::BufferKind::input) {
        item.name = metadata.inputs[buffer->index]->name;
        item.bytes = schedule.inputBytes[buffer->index];
      } else if (buffer->kind == plan::BufferKind::output) {
        item.name = metadata.outputs[buffer->index]->name;
        item.bytes = schedule.outputBytes[buffer->index];
      } else if (buffer->kind == plan::BufferKind::arena) {
        item.bytes = static_cast<uint64_t>(valueOf(buffer->size_bytes));
        item.offset = schedule.slotOffsets[buffer->index];
      }
      report.buffers.push_back(std::move(item));
    }
  }

  void touch(uint32_t buffer, size_t step) {
    std::vector<size_t> &steps = report.buffers[buffer].steps;
    if (steps.empty() || steps.back() != step)
      steps.push_back(step);
  }

  void touchAll(const plan::LaunchT &launch, size_t step) {
    if (const plan::CopyNodeT *copy = launch.node.AsCopyNode()) {
      touch(copy->source.buffer(), step);
      touch(copy->target.buffer(), step);
    } else if (const plan::SetNodeT *set = launch.node.AsSetNode()) {
      touch(set->target.buffer(), step);
    } else {
      const plan::KernelNodeT &kernel = *launch.node.AsKernelNode();
      for (const plan::Argument &argument : kernel.arguments)
        if (argument.kind() == plan::ArgumentKind::pointer)
          touch(argument.index(), step);
      for (const auto &map : kernel.tensor_maps)
        touch(map->buffer, step);
    }
  }

  /// The least time that the part could take.
  void predict(ReportLaunch &launch) const {
    if (!peaks || peaks->flopsPerSecond(launch.arithmetic) == 0)
      return;
    launch.leastMicroseconds =
        peaks->leastMicroseconds(launch.bytes, launch.flops, launch.arithmetic);
    launch.isBoundByMemory = peaks->isBoundByMemory(launch.bytes, launch.flops, launch.arithmetic);
  }

  void addLaunches(const std::vector<runtime::ScheduledLaunch> &scheduled, bool runsOnce) {
    size_t first = report.launches.size();
    for (const runtime::ScheduledLaunch &item : scheduled) {
      const runtime::PlannedLaunch &planned = table[item.id];
      ReportLaunch launch;
      launch.step = planned.kernelNumber;
      launch.number = planned.number;
      launch.name = planned.launch->name;
      if (const plan::KernelNodeT *kernel = planned.kernel()) {
        launch.kernel = kernel->kernel;
        launch.grid = item.grid;
        launch.block = {kernel->block.x(), kernel->block.y(), kernel->block.z()};
        launch.sharedBytes = kernel->shared_bytes;
        launch.facts = factsOf(plan, program, *planned.launch);
      }
      launch.bytes = valueOf(planned.launch->bytes);
      launch.flops = valueOf(planned.launch->flops);
      launch.arithmetic = planned.launch->arithmetic;
      for (uint32_t i = 0; i < item.dependencyCount && !runsOnce; ++i)
        launch.dependencies.push_back(first + schedule.dependencies[item.firstDependency + i]);
      predict(launch);
      touchAll(*planned.launch, launch.step);
      report.launches.push_back(std::move(launch));
    }
  }

  void addRemarks() {
    for (const auto &remark : metadata.remarks)
      report.remarks.push_back({remark->onnx_node,
                                compiler::decisionText(remark->taken, remark->fusion,
                                                       remark->predicate, remark->message),
                                remark->taken});
    if (metadata.remarks.empty())
      report.missing.push_back("Decisions: the plan holds no remarks of the compiler.");
  }

  /// The nodes that steps and remarks name.
  void addNames() {
    llvm::StringMap<bool> isKnown;
    auto add = [&](const std::string &name) {
      if (!std::exchange(isKnown[name], true))
        report.nodes.push_back({name, "", {}});
    };
    for (const ReportStep &step : report.steps)
      llvm::for_each(step.onnxNodes, add);
    for (const ReportRemark &remark : report.remarks)
      add(remark.node);
  }

  const runtime::Plan &plan;
  const plan::MetadataT &metadata;
  const plan::ProgramT &program;
  runtime::LaunchTable table;
  runtime::Schedule schedule;
  std::optional<Peaks> peaks;
  ReportData report;
};

} // namespace

Result<ReportData> describePlan(const runtime::Plan &plan, const std::string &arch,
                                const std::vector<runtime::Shape> &shapes) {
  std::string known;
  for (const auto &program : plan.metadata().programs) {
    if (arch.empty() || program->arch == arch)
      return PlanReader(plan, *program).read(shapes);
    known += (known.empty() ? "" : ", ") + program->arch;
  }
  return Status(StatusCode::kUsage,
                joinText("--arch: the plan has no kernels for ", arch, "; it has ", known));
}

void addGraph(ReportData &report, const std::string &path) {
  std::vector<compiler::GraphNode> graph = compiler::readOnnxGraph(path);
  if (graph.empty())
    return;
  report.hasGraph = true;
  report.nodes.clear();
  for (compiler::GraphNode &node : graph)
    report.nodes.push_back({std::move(node.name), std::move(node.op), std::move(node.inputs)});
}

} // namespace smelt::tools
