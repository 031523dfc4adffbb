// smelt bench: how long one run takes on the device, and where the time goes.
#include "runtime/text.h"
#include "tools/smelt/bench_report.h"
#include "tools/smelt/commands.h"
#include "tools/smelt/dimensions.h"
#include "tools/smelt/limits.h"
#include "tools/smelt/measurement.h"
#include "tools/smelt/report.h"
#include "tools/smelt/run_times.h"

#include "llvm/ADT/StringExtras.h"

namespace smelt::tools {

using runtime::RunTime;

namespace {

struct Flags {
  OpenFlags open;
  InputFlags inputs;
  MeasureOptions measure;
  std::vector<std::string> percentiles{std::begin(kUsualPercentiles), std::end(kUsualPercentiles)};
  std::string timesFile;
  bool profile = false;
  bool json = false;
};

} // namespace

static std::string shareText(double least, double taken) {
  return least > 0 && taken > 0 ? numberText(100 * least / taken, 0) : "-";
}

static void printProfile(const Measurement &measured) {
  std::vector<KernelGroup> groups = groupKernels(measured);
  double total = totalMicroseconds(groups);
  Table table({"kernel", "launches", "time, us", "share, %", "bytes", "flops", "roofline, %"});
  for (const KernelGroup &group : groups)
    table.add({group.name, std::to_string(group.launches), numberText(group.microseconds, 2),
               numberText(100 * group.microseconds / total, 1), std::to_string(group.bytes),
               std::to_string(group.flops),
               shareText(group.leastMicroseconds, group.microseconds)});
  table.add(
      {"all", std::to_string(measured.kernels.size()), numberText(total, 2), "100.0", "", "", ""});
  table.print();
}

static void printKernels(const Measurement &measured) {
  Table table({"#", "kernel", "time, us", "bytes", "flops", "roofline, %", "ONNX nodes"});
  for (const KernelTime &kernel : measured.kernels) {
    double least = measured.peaks ? kernel.leastMicroseconds(*measured.peaks) : 0;
    table.add({kernel.number, kernel.name, numberText(kernel.microseconds, 2),
               std::to_string(kernel.bytes), std::to_string(kernel.flops),
               shareText(least, kernel.microseconds), llvm::join(kernel.onnxNodes, " ")});
  }
  table.print();
}

/// "median 0.0771, p90 0.0779, p99 0.0801, min 0.0765, max 0.0922, mean 0.0773"
static std::string distributionText(const Distribution &times, const Flags &flags) {
  std::string text = "median " + shortText(times.median());
  for (const std::string &percent : flags.percentiles)
    text += joinText(", p", percent, " ", shortText(times.percentile(std::stod(percent))));
  return joinText(text, ", min ", shortText(times.min()), ", max ", shortText(times.max()),
                  ", mean ", shortText(times.mean()));
}

static void printRuns(const Flags &flags, const Measurement &measured) {
  print(joinText(
      "single runs, ms: ", distributionText(measured.of(&RunTime::computeMilliseconds), flags),
      " (", measured.runs.runs.size(), " runs)"));
  print(joinText("throughput: ", shortText(measured.runsPerSecond()), " runs a second",
                 flags.measure.streams > 1 ? joinText(" on ", flags.measure.streams, " streams")
                                           : ""));
  if (flags.measure.copies)
    print(joinText("copies, ms: in ", shortText(measured.of(&RunTime::inMilliseconds).median()),
                   ", out ", shortText(measured.of(&RunTime::outMilliseconds).median()),
                   " (medians)"));
}

static void printText(const Flags &flags, const Session &session, const Measurement &measured) {
  Distribution latency(measured.latencies);
  print("device: " + session.deviceName());
  print(joinText("latency, ms: median ", numberText(latency.median(), 4), ", p99 ",
                 numberText(latency.percentile(99), 4), ", min ", numberText(latency.min(), 4),
                 ", mean ", numberText(latency.mean(), 4), " (", latency.sorted.size(),
                 " samples)"));
  printRuns(flags, measured);
  if (!measured.kernels.empty())
    print(joinText("enqueue, us: ",
                   distributionText(measured.of(&RunTime::enqueueMicroseconds), flags)));
  if (double least = leastMilliseconds(measured); least > 0)
    print(joinText("roofline: ", numberText(100 * least / latency.median(), 0),
                   " % of what memory and arithmetic allow"));
  if (!measured.states.empty()) {
    const GpuState &state = measured.states.back();
    print(joinText("clocks: ", state.clockMhz, " of ", state.highestClockMhz, " MHz, memory ",
                   state.memoryClockMhz, " MHz, ", state.celsius, " degrees"));
  }
  if (!measured.kernels.empty())
    flags.profile ? printProfile(measured) : printKernels(measured);
}

static Status checkPercentiles(const std::vector<std::string> &percentiles) {
  for (const std::string &text : percentiles) {
    double percent = 0;
    if (!llvm::to_float(text, percent) || !(percent > 0 && percent <= 100))
      return Status(StatusCode::kUsage,
                    joinText("'", text, "' is no percentile; write a number up to 100"));
  }
  return {};
}

static Status bench(Flags flags) {
  SMELT_RETURN_IF_ERROR(checkPercentiles(flags.percentiles));
  SMELT_RETURN_IF_ERROR(
      nameShapes(flags.open.model.path, flags.inputs.dimensions, flags.inputs.shapes));
  if (!isPlan(flags.open.model.path))
    flags.open.model.shapes = flags.inputs.shapes;
  flags.open.model.values = flags.inputs.inputs;
  SMELT_ASSIGN_OR_RETURN(OpenModel model, openModel(flags.open));
  if (!model.cuda && (flags.measure.streams > 1 || flags.measure.copies))
    return Status(StatusCode::kUsage, "--streams and --copies are of a GPU; this runs on the CPU");
  setActivity("reading and drawing the inputs");
  SMELT_ASSIGN_OR_RETURN(RunInputs inputs, makeInputs(model.session->signature(), flags.inputs));
  SMELT_ASSIGN_OR_RETURN(Measurement measured, measure(model, inputs.inputs, flags.measure));
  for (const std::string &warning : measured.warnings)
    note("warning: " + warning);
  if (!flags.timesFile.empty())
    SMELT_RETURN_IF_ERROR(writeRunTimes(measured.runs, flags.timesFile));
  if (flags.json)
    printJson(benchJson(flags.open.model.path, *model.session, inputs.inputs, measured,
                        flags.percentiles));
  else
    printText(flags, *model.session, measured);
  return {};
}

void addBench(CommandLine &line) {
  auto flags = std::make_shared<Flags>();
  Command command = line.add("bench",
                             "Measure a model for 3 s after a warm-up: graph launches, inputs on "
                             "the device, no transfers; then run by run",
                             [flags] { return bench(*flags); });
  addModel(command, "The .onnx or .plan file", flags->open);
  addInputs(command, flags->inputs);
  command.seconds("--duration", flags->measure.seconds,
                  "How long to measure; single runs take a third of it more (default: 3)");
  command.count("--iterations", flags->measure.iterations, 1, "N",
                "Single runs to measure at least (default: 10)");
  command.seconds("--warm-up", flags->measure.warmupSeconds, "Before measuring (default: 0.2)");
  command.list("--percentiles", flags->percentiles, "P[,P...]",
               "Percentiles of single runs to print (default: 90,95,99)");
  command.count("--streams", flags->measure.streams, 1, "N",
                "Streams, each with a context, that single runs take turns on (default: 1)");
  command.flag("--copies", flags->measure.copies,
               "Copy inputs and outputs around single runs, and time that apart");
  command.text("--export-times", flags->timesFile,
               "File for the times of all single runs, as JSON");
  command.flag("--profile", flags->profile,
               "Print kernels by what they take together, those that run the same code as one");
  addJson(command, flags->json);
  command.footer("An .onnx is compiled for exactly the shapes that --shape gives; a .plan runs as "
                 "it was compiled.\n"
                 "examples:\n"
                 "  smelt bench model.onnx --shape input_ids=1x128\n"
                 "  smelt bench model.plan --dim batch=8 --profile\n"
                 "  smelt bench model.plan --shape input_ids=8x512 --json");
}

} // namespace smelt::tools
