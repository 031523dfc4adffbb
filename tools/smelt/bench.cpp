// smelt bench: how long one run takes on the device, without transfers, and where the time goes.
#include "runtime/text.h"
#include "tools/smelt/commands.h"
#include "tools/smelt/limits.h"
#include "tools/smelt/report.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>

namespace smelt::tools {

static constexpr double kSeconds = 3.0;
static constexpr size_t kMinSamples = 5;

namespace {

struct Flags {
  OpenFlags open;
  InputFlags inputs;
  bool json = false;
};

struct Latency {
  double median, p99, min, mean;
  size_t samples;
};

} // namespace

/// `samples` in ms, at least one.
static Latency summarize(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  size_t count = samples.size();
  double median = (samples[(count - 1) / 2] + samples[count / 2]) / 2;
  double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(count);
  return {median, samples[(count - 1) * 99 / 100], samples[0], mean, count};
}

/// Runs in the interpreter for the measured time, after one run that also folds constants.
static Result<std::vector<double>> timeRuns(Session &session, const std::vector<Array> &inputs) {
  using Clock = std::chrono::steady_clock;
  SMELT_ASSIGN_OR_RETURN([[maybe_unused]] auto outputs, session.run(inputs));
  std::vector<double> samples;
  Clock::time_point begin = Clock::now();
  ProgressLine progress;
  while (Clock::now() - begin < std::chrono::duration<double>(kSeconds) ||
         samples.size() < kMinSamples) {
    Clock::time_point start = Clock::now();
    SMELT_ASSIGN_OR_RETURN(outputs, session.run(inputs));
    samples.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    progress.show(joinText("measured ", samples.size(), " runs"));
  }
  return samples;
}

/// The least time that the kernel could take on this device, in microseconds; 0 where the rate of
/// its arithmetic is not known.
static double leastMicroseconds(const CudaSession::KernelTime &kernel,
                                const CudaSession::Peaks &peaks) {
  double flopsPerSecond = peaks.flopsPerSecond(kernel.arithmetic);
  if (flopsPerSecond == 0)
    return 0;
  return 1e6 * std::max(static_cast<double>(kernel.bytes) / peaks.bytesPerSecond,
                        static_cast<double>(kernel.flops) / flopsPerSecond);
}

static llvm::json::Object latencyJson(const Latency &latency) {
  return llvm::json::Object{{"median", latency.median},
                            {"p99", latency.p99},
                            {"min", latency.min},
                            {"mean", latency.mean},
                            {"samples", static_cast<int64_t>(latency.samples)}};
}

static void report(const Flags &flags, const Session &session, const RunInputs &inputs,
                   const Latency &latency, const std::vector<CudaSession::KernelTime> &kernels,
                   const std::optional<CudaSession::Peaks> &peak) {
  double least = 0;
  llvm::json::Array list;
  Table table({"kernel", "time, us", "bytes", "flops", "roofline, %", "ONNX nodes"});
  for (const CudaSession::KernelTime &kernel : kernels) {
    double bound = peak ? leastMicroseconds(kernel, *peak) : 0;
    least += bound;
    bool isKnown = bound > 0 && kernel.microseconds > 0;
    list.push_back(llvm::json::Object{
        {"name", kernel.name},
        {"time_us", kernel.microseconds},
        {"bytes", kernel.bytes},
        {"flops", kernel.flops},
        {"roofline_share",
         isKnown ? llvm::json::Value(bound / kernel.microseconds) : llvm::json::Value(nullptr)},
        {"onnx_nodes", llvm::json::Array(kernel.onnxNodes)}});
    table.add({kernel.name, numberText(kernel.microseconds, 2), std::to_string(kernel.bytes),
               std::to_string(kernel.flops),
               isKnown ? numberText(100 * bound / kernel.microseconds, 0) : "-",
               llvm::join(kernel.onnxNodes, " ")});
  }
  double share = least / (1e3 * latency.median);
  if (flags.json) {
    llvm::json::Object shapes;
    for (size_t i = 0; i < inputs.inputs.size(); ++i)
      shapes[session.signature().inputs[i].name] = llvm::json::Array(inputs.inputs[i].shape);
    return printJson(llvm::json::Object{
        {"schema", "smelt.bench/1"},
        {"model", flags.open.model.path},
        {"device", session.deviceName()},
        {"shapes", std::move(shapes)},
        {"latency_ms", latencyJson(latency)},
        {"roofline_share", peak ? llvm::json::Value(share) : llvm::json::Value(nullptr)},
        {"kernels", std::move(list)}});
  }
  print("device: " + session.deviceName());
  print(joinText("latency, ms: median ", numberText(latency.median, 4), ", p99 ",
                 numberText(latency.p99, 4), ", min ", numberText(latency.min, 4), ", mean ",
                 numberText(latency.mean, 4), " (", latency.samples, " samples)"));
  if (peak)
    print(joinText("roofline: ", numberText(100 * share, 0),
                   " % of what memory and arithmetic allow"));
  if (!kernels.empty())
    table.print();
}

static Status bench(Flags flags) {
  if (!isPlan(flags.open.model.path))
    flags.open.model.shapes = flags.inputs.shapes;
  flags.open.model.values = flags.inputs.inputs;
  SMELT_ASSIGN_OR_RETURN(OpenModel model, openModel(flags.open));
  setActivity("reading and drawing the inputs");
  SMELT_ASSIGN_OR_RETURN(RunInputs inputs, makeInputs(model.session->signature(), flags.inputs));
  setActivity("measuring the model");
  std::vector<double> samples;
  std::vector<CudaSession::KernelTime> kernels;
  std::optional<CudaSession::Peaks> peaks;
  if (model.cuda) {
    SMELT_RETURN_IF_ERROR(model.cuda->prepareOnDevice(inputs.inputs));
    SMELT_ASSIGN_OR_RETURN(samples, model.cuda->timeGraph(kSeconds));
    SMELT_ASSIGN_OR_RETURN(kernels, model.cuda->timeKernels());
    SMELT_ASSIGN_OR_RETURN(peaks, model.cuda->peaks());
  } else {
    SMELT_ASSIGN_OR_RETURN(samples, timeRuns(*model.session, inputs.inputs));
  }
  report(flags, *model.session, inputs, summarize(std::move(samples)), kernels, peaks);
  return {};
}

void addBench(CommandLine &line) {
  auto flags = std::make_shared<Flags>();
  Command command = line.add("bench",
                             "Measure a model for 3 s after a warm-up: graph "
                             "launches, inputs on the device, no transfers",
                             [flags] { return bench(*flags); });
  addModel(command, "The .onnx or .plan file", flags->open);
  addInputs(command, flags->inputs);
  addJson(command, flags->json);
  command.footer("An .onnx is compiled for exactly the shapes that --shape gives; a .plan runs as "
                 "it was compiled.\n"
                 "examples:\n"
                 "  smelt bench model.onnx --shape input_ids=1x128\n"
                 "  smelt bench model.plan --shape input_ids=8x512 --json");
}

} // namespace smelt::tools
