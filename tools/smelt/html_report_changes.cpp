// What differs between two plans, for a report.
#include "runtime/text.h"
#include "tools/smelt/html_report_data.h"
#include "tools/smelt/report.h"

#include "llvm/ADT/StringExtras.h"

#include <map>

namespace smelt::tools {

namespace {

/// One step as a person compares it.
struct StepText {
  std::string launches; ///< their names
  std::string sources;  ///< their CUDA text
};

} // namespace

/// By the ONNX nodes that the steps compute; several of the same nodes stand behind each other.
static std::map<std::string, StepText> describeSteps(const ReportData &report) {
  std::map<std::string, StepText> steps;
  for (const ReportLaunch &launch : report.launches) {
    StepText &step = steps[llvm::join(report.steps[launch.step].onnxNodes, " ")];
    step.launches += (step.launches.empty() ? "" : ", ") + launch.name;
    if (launch.kernel)
      step.sources += report.kernels[*launch.kernel].source;
  }
  return steps;
}

static void addFigure(ReportData &report, const char *what, const std::string &before,
                      const std::string &after) {
  if (before != after)
    report.changes.push_back({what, before, after});
}

static void addSteps(ReportData &report, const ReportData &other) {
  auto before = describeSteps(other), after = describeSteps(report);
  for (const auto &[nodes, step] : after) {
    auto found = before.find(nodes);
    if (found == before.end())
      report.changes.push_back({nodes, "not one fusion", step.launches});
    else if (found->second.launches != step.launches)
      report.changes.push_back({nodes, found->second.launches, step.launches});
    else if (found->second.sources != step.sources)
      report.changes.push_back({nodes, step.launches, "the same kernels, other CUDA text"});
  }
  for (const auto &[nodes, step] : before)
    if (!after.contains(nodes))
      report.changes.push_back({nodes, step.launches, "not one fusion"});
}

void addChanges(ReportData &report, const ReportData &before, const std::string &path) {
  report.against = path;
  auto bytes = [](uint64_t count) { return bytesText(static_cast<double>(count)); };
  addFigure(report, "Smelt", before.compiler, report.compiler);
  addFigure(report, "architecture", before.arch, report.arch);
  addFigure(report, "launches", std::to_string(before.launches.size()),
            std::to_string(report.launches.size()));
  addFigure(report, "plan", bytes(before.planBytes), bytes(report.planBytes));
  addFigure(report, "weights", bytes(before.weightBytes), bytes(report.weightBytes));
  addFigure(report, "arena", bytes(before.arenaBytes), bytes(report.arenaBytes));
  addSteps(report, before);
}

} // namespace smelt::tools
