// What a report says of a compiled model at one set of shapes, apart from how it is shown.
#pragma once

#include "runtime/read_plan.h"
#include "runtime/schedule.h"
#include "tools/smelt/kernel_facts.h"

#include "llvm/Support/JSON.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace smelt::tools {

/// The CUDA text of launches that differ in their arguments alone.
struct ReportKernel {
  std::string entry;
  std::string source; ///< "" where the plan holds none
};

/// One node of the CUDA graph.
struct ReportLaunch {
  size_t step = 0;    ///< of ReportData::steps
  std::string number; ///< in the plan: that of the step, or "3.2" (plan::launchNumber)
  std::string name;
  std::optional<size_t> kernel; ///< of ReportData::kernels; nothing for copies and sets
  std::array<uint32_t, 3> grid = {}, block = {};
  uint32_t sharedBytes = 0;         ///< dynamic
  std::optional<KernelFacts> facts; ///< of its machine code
  int64_t bytes = 0;                ///< that it must move
  int64_t flops = 0;
  plan::Arithmetic arithmetic = plan::Arithmetic::float32; ///< of the flops
  std::vector<size_t> dependencies;                        ///< earlier launches
  std::optional<double> leastMicroseconds;                 ///< by the roofline
  std::optional<bool> isBoundByMemory;                     ///< else by arithmetic
  std::optional<double> microseconds;                      ///< as measured by itself
  double start = 0; ///< in microseconds, behind what it depends on
};

/// A fusion: launches that compute it, behind each other. Its place in ReportData::steps is its number.
struct ReportStep {
  std::vector<std::string> onnxNodes;
  bool runsOnce; ///< for each shape, before the first run
};

/// Device memory that steps write and read.
struct ReportBuffer {
  plan::BufferKind kind;
  std::string name;    ///< of an input or output; else ""
  uint64_t bytes = 0;  ///< of inputs, outputs, and what lies in the arena
  uint64_t offset = 0; ///< in the arena
  std::vector<size_t>
      steps; ///< that touch it, in order: the first computes it, unless it is an input
};

struct ReportNode {
  std::string name, op;       ///< op is "" where the model is not at hand
  std::vector<size_t> inputs; ///< nodes that it takes values of
};

/// A decision of the compiler, as `smelt explain` says it.
struct ReportRemark {
  std::string node, text;
  bool taken;
};

struct ReportPort {
  std::string name, type;
  std::vector<int64_t> shape;
};

/// Figures of `smelt bench --json`.
struct ReportProfile {
  std::string path, device;
  double median, p99, least, mean; ///< latency in ms
};

/// What differs from another plan.
struct ReportChange {
  std::string what, before, after;
};

struct ReportData {
  std::string model, command, compiler, arch;
  std::vector<std::string> architectures; ///< that the plan has kernels for
  std::string part;                       ///< the GPU whose data sheet predicts; "" where none does
  std::vector<ReportPort> inputs, outputs;
  uint64_t planBytes = 0, weightBytes = 0, arenaBytes = 0;
  bool hasGraph =
      false; ///< whether `nodes` are the model's graph, rather than names that a plan holds
  std::vector<ReportNode> nodes;
  std::vector<ReportStep> steps;
  std::vector<ReportLaunch> launches; ///< those of steps that run once come first
  std::vector<ReportKernel> kernels;
  std::vector<ReportBuffer> buffers;
  std::vector<ReportRemark> remarks;
  std::optional<ReportProfile> profile;
  std::string against; ///< the other plan's path; "": none
  std::vector<ReportChange> changes;
  std::vector<std::string> missing; ///< what cannot be shown, why, and what to do

  /// Measured, else predicted; 0 where neither is known.
  static double timeOf(const ReportLaunch &launch) {
    return launch.microseconds.value_or(launch.leastMicroseconds.value_or(0));
  }
};

/// What the plan says of the program for `arch` at these input shapes, one for each input. Fails as
/// solveShapes() and makeSchedule() do, and with kUsage where there is no such program.
Result<ReportData> describePlan(const runtime::Plan &plan, const std::string &arch,
                                const std::vector<runtime::Shape> &shapes);

/// Adds the ONNX graph of the model at `path`; what it names in other ways than the plan stays out.
void addGraph(ReportData &report, const std::string &path);

/// What `smelt bench --json` printed. kUsage where the file is something else.
Result<llvm::json::Object> readProfile(const std::string &path);
/// The shapes in it, as "name=1x128".
Result<std::vector<std::string>> profileShapes(const llvm::json::Object &profile,
                                               const std::string &path);
/// Takes over the measured times. Fails with kUsage where they are of other kernels.
Status addProfile(ReportData &report, const llvm::json::Object &profile, const std::string &path);

/// Lays the launches out in time, each behind what it depends on.
void placeInTime(ReportData &report);

/// {"schema": "smelt.report/1", ...}
llvm::json::Object reportJson(const ReportData &report);
/// The page with the data in it.
std::string reportPage(const ReportData &report);
/// Events of one launch of the graph, as chrome://tracing and ui.perfetto.dev read them.
llvm::json::Object reportTrace(const ReportData &report);
/// The fusions and what flows between them, as Graphviz reads it.
std::string reportDot(const ReportData &report);

} // namespace smelt::tools
