#include "tools/smelt/trtexec_report.h"

#include "codegen/output_file.h"
#include "runtime/text.h"
#include "tools/smelt/report.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace smelt::tools {

using runtime::RunTime;

static void info(const std::string &line) { print("[I] " + line); }

static Status writeJson(llvm::json::Value value, const std::string &path) {
  if (path.empty())
    return {};
  std::string text = llvm::formatv("{0:2}\n", value);
  return codegen::writeText(text, path);
}

/// "min = 0.1 ms, max = 0.2 ms, mean = 0.15 ms, median = 0.15 ms, percentile(90%) = 0.18 ms"
static std::string timesText(const Distribution &times, const TrtexecFlags &flags, double scale) {
  auto text = [&](double time) { return shortText(time * scale) + " ms"; };
  std::string line = joinText("min = ", text(times.min()), ", max = ", text(times.max()),
                              ", mean = ", text(times.mean()), ", median = ", text(times.median()));
  for (const std::string &percent : flags.percentiles)
    line += joinText(", percentile(", percent, "%) = ", text(times.percentile(std::stod(percent))));
  return line;
}

static void printAverages(const TrtexecFlags &flags, const Measurement &measured) {
  const std::vector<RunTime> &runs = measured.runs.runs;
  for (size_t first = 0; first + flags.averageRuns <= runs.size(); first += flags.averageRuns) {
    double compute = 0, enqueue = 0;
    for (size_t i = first; i < first + flags.averageRuns; ++i) {
      compute += runs[i].computeMilliseconds / static_cast<double>(flags.averageRuns);
      enqueue += 1e-3 * runs[i].enqueueMicroseconds / static_cast<double>(flags.averageRuns);
    }
    info(joinText("Average on ", flags.averageRuns, " runs - GPU latency: ", shortText(compute),
                  " ms - Host latency: ", shortText(compute), " ms (enqueue ", shortText(enqueue),
                  " ms)"));
  }
}

static void printSummary(const TrtexecFlags &flags, const Measurement &measured) {
  Distribution compute = measured.of(&RunTime::computeMilliseconds);
  double total = compute.mean() * static_cast<double>(compute.sorted.size());
  info("=== Performance summary ===");
  info(joinText("Throughput: ", shortText(measured.runsPerSecond()), " qps"));
  info("Latency: " + timesText(compute, flags, 1)); // there are no copies
  info("Enqueue Time: " + timesText(measured.of(&RunTime::enqueueMicroseconds), flags, 1e-3));
  info("H2D Latency: " + timesText(measured.of(&RunTime::inMilliseconds), flags, 1));
  info("GPU Compute Time: " + timesText(compute, flags, 1));
  info("D2H Latency: " + timesText(measured.of(&RunTime::outMilliseconds), flags, 1));
  info(joinText("Total Host Walltime: ", shortText(measured.runs.seconds), " s"));
  info(joinText("Total GPU Compute Time: ", shortText(total * 1e-3), " s"));
  for (const std::string &warning : measured.warnings)
    print("[W] " + warning);
}

static double totalOf(const std::vector<KernelTime> &kernels) {
  double total = 0;
  for (const KernelTime &kernel : kernels)
    total += kernel.microseconds;
  return total;
}

static void printProfile(const Measurement &measured) {
  double total = totalOf(measured.kernels);
  info("=== Profile ===");
  Table table({"Layer", "Time(ms)", "Avg.(ms)", "Median(ms)", "Time(%)"});
  auto add = [&](const std::string &name, double microseconds) {
    std::string time = shortText(microseconds * 1e-3);
    table.add({name, time, time, time, numberText(100 * microseconds / total, 1)});
  };
  for (const KernelTime &kernel : measured.kernels)
    add(kernel.name, kernel.microseconds);
  add("Total", total);
  table.print();
}

static llvm::json::Array profileJson(const Measurement &measured) {
  double total = totalOf(measured.kernels);
  llvm::json::Array list{llvm::json::Object{{"count", 1}}};
  for (const KernelTime &kernel : measured.kernels) {
    double milliseconds = kernel.microseconds * 1e-3;
    list.push_back(
        llvm::json::Object{{"name", kernel.name},
                           {"timeMs", milliseconds},
                           {"averageMs", milliseconds},
                           {"medianMs", milliseconds},
                           {"percentage", total > 0 ? 100 * kernel.microseconds / total : 0}});
  }
  return list;
}

static void printLayers(const Measurement &measured) {
  info("=== Layer Information ===");
  for (const KernelTime &kernel : measured.kernels)
    print(joinText(kernel.name, ": ", llvm::join(kernel.onnxNodes, " ")));
}

static llvm::json::Object layersJson(const Measurement &measured) {
  llvm::json::Array layers;
  for (const KernelTime &kernel : measured.kernels)
    layers.push_back(llvm::json::Object{{"Name", kernel.name},
                                        {"LayerType", kernel.entry},
                                        {"Metadata", llvm::join(kernel.onnxNodes, " ")}});
  return llvm::json::Object{{"Layers", std::move(layers)}};
}

static llvm::json::Array timesJson(const Measurement &measured) {
  llvm::json::Array list;
  for (const RunTime &run : measured.runs.runs)
    list.push_back(llvm::json::Object{
        {"enqueueMs", run.enqueueMicroseconds * 1e-3},
        {"h2dMs", run.inMilliseconds},
        {"computeMs", run.computeMilliseconds},
        {"d2hMs", run.outMilliseconds},
        {"latencyMs", run.inMilliseconds + run.computeMilliseconds + run.outMilliseconds}});
  return list;
}

Status reportAsTrtexec(const TrtexecFlags &flags, const Measurement &measured) {
  printAverages(flags, measured);
  if (flags.dumpLayers)
    printLayers(measured);
  if (flags.dumpProfile)
    printProfile(measured);
  printSummary(flags, measured);
  SMELT_RETURN_IF_ERROR(writeJson(timesJson(measured), flags.exportTimes));
  SMELT_RETURN_IF_ERROR(writeJson(profileJson(measured), flags.exportProfile));
  return writeJson(layersJson(measured), flags.exportLayers);
}

/// "2x4"
static std::string dimensionsText(const std::vector<int64_t> &shape) {
  std::string text;
  for (int64_t extent : shape)
    text += joinText(text.empty() ? "" : "x", extent);
  return text;
}

Status reportOutputs(const TrtexecFlags &flags, const Signature &signature,
                     const std::vector<Array> &outputs) {
  llvm::json::Array list;
  for (size_t i = 0; i < outputs.size(); ++i) {
    llvm::json::Array values;
    std::string text;
    for (size_t element = 0; element < outputs[i].elementCount(); ++element) {
      values.push_back(jsonNumber(outputs[i].at(element)));
      text += " " + shortText(outputs[i].at(element));
    }
    if (flags.dumpOutput)
      info(joinText(signature.outputs[i].name, ": (", dimensionsText(outputs[i].shape), ")", text));
    list.push_back(llvm::json::Object{{"name", signature.outputs[i].name},
                                      {"dimensions", dimensionsText(outputs[i].shape)},
                                      {"values", std::move(values)}});
  }
  return writeJson(std::move(list), flags.exportOutput);
}

} // namespace smelt::tools
