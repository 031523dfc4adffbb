// smelt_generate: draws graphs, takes each through every stage of the compiler, and compares what they compute.
#include "tests/generate/device.h"
#include "tests/generate/export.h"
#include "tests/generate/matrix.h"
#include "tests/generate/report.h"
#include "tests/generate/shrink.h"

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <set>
#include <thread>

using namespace smelt;
using namespace smelt::generate;

namespace {

constexpr int kAccuracy = 4, kTime = 5;
constexpr size_t kMostShrunk = 12, kMostListed = 40;

struct Flags {
  size_t count = 100;
  uint64_t seed = 1;
  std::vector<std::string> kinds;
  std::string device = "none", json, saveFolder, exportFolder, matrix;
  std::vector<std::string> architectures;
  size_t dynamic = 0, stride = 1;
  bool only = false;
  RunOptions run;
};

/// Kinds in turn; attention, whose kernels take NVRTC five times as long as others, comes once.
const std::vector<std::string> kMix = {
    "mixed", "elementwise",  "views",   "reductions", "products", "norms",
    "mixed", "convolutions", "images",  "reductions", "products", "attention",
    "mixed", "empty",        "contrib", "quantized",  "control"};

CLI::Validator isKind() { return CLI::IsMember(kindNames()); }

void addOptions(CLI::App &app, Flags &flags) {
  flags.run.jobs = std::max(1u, std::thread::hardware_concurrency());
  app.add_option("--count", flags.count, "graphs to draw");
  app.add_option("--seed", flags.seed, "of the first; the next has the next");
  app.add_flag("--only", flags.only, "one graph, of --seed and the one kind given");
  app.add_option("--kinds", flags.kinds,
                 "of: mixed elementwise views reductions products norms attention convolutions "
                 "images empty contrib quantized control "
                 "(default: all, some more often)")
      ->delimiter(',')
      ->check(isKind());
  app.add_option("--dynamic", flags.dynamic,
                 "so many of them at least are compiled for any shape and run at three");
  app.add_option(
         "--device", flags.device,
         "cpu (the interpreter alone), none (kernels are compiled too), cuda (they also run)")
      ->check(CLI::IsMember({"cpu", "none", "cuda"}));
  app.add_option("--arch", flags.architectures,
                 "architectures that kernels are compiled for (default: sm_90a)")
      ->delimiter(',');
  app.add_option(
         "--narrow", flags.run.judge.narrowTo,
         "f16 or bf16: what float32 is narrowed to; not for a device, where it may overflow")
      ->check(CLI::IsMember({"f16", "bf16"}));
  app.add_flag("!--no-assembly", flags.run.judge.assemblesKernels,
               "kernels are only checked: hardly optimised, not assembled");
  app.add_flag("!--no-phases", flags.run.judge.interpretsPhases,
               "interpret the imported and the fused module only");
  app.add_option("--matrix", flags.matrix,
                 "instead: every pair of ops over all types, or --count triples")
      ->check(CLI::IsMember({"pairs", "triples"}));
  app.add_option("--every", flags.stride, "of the matrix: each so many-th")
      ->check(CLI::PositiveNumber);
  app.add_option("--jobs", flags.run.jobs, "processes; 0: all in this one, as sanitizers need it");
  app.add_option("--time-limit", flags.run.timeLimit,
                 "seconds after which no further graph is begun");
  app.add_option("--cache", flags.run.judge.cacheFolder,
                 "folder of compiled kernels, for --device cuda");
  app.add_option("--json", flags.json, "file of the summary");
  app.add_option("--save-failures", flags.saveFolder, "folder for failing graphs, made small");
  app.add_option("--export", flags.exportFolder,
                 "instead: write the graphs with inputs and the interpreter's outputs");
}

std::vector<Task> makeTasks(const Flags &flags) {
  if (flags.matrix == "pairs")
    return every(pairTasks(), flags.stride, 0);
  if (flags.matrix == "triples")
    return every(tripleTasks(flags.count), flags.stride, 0);
  const std::vector<std::string> &kinds = flags.kinds.empty() ? kMix : flags.kinds;
  std::vector<Task> tasks;
  size_t count = flags.only ? 1 : flags.count;
  for (size_t i = 0; i < count; ++i)
    tasks.push_back({kinds[i % kinds.size()], flags.seed + i, i < flags.dynamic, {}, Wire::FLOAT});
  return tasks;
}

int exportAll(const std::vector<Task> &tasks, const std::string &folder) {
  size_t written = 0;
  for (size_t i = 0; i < tasks.size(); ++i)
    written +=
        exportTask(tasks[i], folder + "/" + tasks[i].kind + "_" + std::to_string(tasks[i].seed));
  std::printf("wrote %zu of %zu graphs\n", written, tasks.size());
  return 0;
}

/// The first failures of each kind, made small and written.
void saveFailures(const Flags &flags, const std::vector<Task> &tasks, const Summary &summary) {
  std::set<std::string> seen;
  for (const Report &report : summary.failures()) {
    const Task &task = tasks[report.task];
    if (seen.size() >= kMostShrunk || !seen.insert(signature(*report.failure)).second)
      continue;
    uint64_t attempt = (report.seed - task.seed) >> 40;
    auto graph = drawTask(task, attempt, int64_t{1} << 12);
    if (!graph)
      continue;
    Graph smallest = shrink(task, attempt, *graph, *report.failure, flags.run.judge);
    std::string folder = flags.saveFolder + "/" + task.kind + "_" + std::to_string(report.task) +
                         "_" + std::to_string(task.seed);
    saveFailure(smallest, *report.failure, task.name(), folder);
    std::printf("%s: %s in %s\n", task.name().c_str(), smallest.summary().c_str(), folder.c_str());
  }
}

void listFailures(const std::vector<Task> &tasks, const Summary &summary) {
  std::vector<Report> failures = summary.failures();
  for (size_t i = 0; i < std::min(failures.size(), kMostListed); ++i) {
    const Report &report = failures[i];
    std::string ops;
    for (const std::string &op : report.ops)
      ops += (ops.empty() ? "" : "+") + op;
    std::string first = report.failure->message.substr(0, 400);
    std::printf("FAILED %s at '%s' (%s): %s\n", tasks[report.task].name().c_str(),
                report.failure->stage.c_str(), ops.c_str(), first.c_str());
  }
  if (failures.size() > kMostListed)
    std::printf("and %zu more\n", failures.size() - kMostListed);
}

int runAll(Flags &flags, const std::vector<Task> &tasks) {
  flags.run.judge.device = flags.device == "cuda"  ? Device::kCuda
                           : flags.device == "cpu" ? Device::kCpu
                                                   : Device::kNone;
  if (!flags.architectures.empty())
    flags.run.judge.architectures = flags.architectures;
  flags.run.judge.compilesUndecided = !flags.matrix.empty();
  auto start = std::chrono::steady_clock::now();
  Summary summary(tasks);
  runTasks(tasks, flags.run, [&](const Report &report) { summary.add(report); });
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  listFailures(tasks, summary);
  std::printf("%s%zu of %zu graphs in %.1f s: %zu failed\n", summary.table().c_str(),
              summary.reported(), tasks.size(), seconds, summary.count(Report::kFails));
  if (!flags.json.empty())
    std::ofstream(flags.json) << llvm::formatv("{0:2}", summary.json(seconds)).str() << "\n";
  if (!flags.saveFolder.empty())
    saveFailures(flags, tasks, summary);
  if (summary.count(Report::kFails))
    return kAccuracy;
  return summary.reported() < tasks.size() ? kTime : 0;
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("Draws valid ONNX graphs, takes each through every stage of the compiler, and "
               "compares what they compute.");
  Flags flags;
  addOptions(app, flags);
  CLI11_PARSE(app, argc, argv);
  if (const char *path = std::getenv("SMELT_NVRTC_PATH"))
    flags.run.judge.nvrtcPath = path;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::vector<Task> tasks = makeTasks(flags);
  if (!flags.exportFolder.empty())
    return exportAll(tasks, flags.exportFolder);
  return runAll(flags, tasks);
}
