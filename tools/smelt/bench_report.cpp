#include "tools/smelt/bench_report.h"

#include "tools/smelt/report.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <string>
#include <tuple>

namespace smelt::tools {

using runtime::RunTime;

static llvm::json::Value shareOf(double least, double taken) {
  return least > 0 && taken > 0 ? llvm::json::Value(least / taken) : llvm::json::Value(nullptr);
}

std::vector<KernelGroup> groupKernels(const Measurement &measured) {
  std::map<std::string, KernelGroup> byEntry;
  for (const KernelTime &kernel : measured.kernels) {
    KernelGroup &group = byEntry[kernel.entry.empty() ? kernel.name : kernel.entry];
    group.name = kernel.name;
    ++group.launches;
    group.microseconds += kernel.microseconds;
    group.leastMicroseconds += measured.peaks ? kernel.leastMicroseconds(*measured.peaks) : 0;
    group.bytes += kernel.bytes;
    group.flops += kernel.flops;
  }
  std::vector<KernelGroup> groups;
  groups.reserve(byEntry.size());
  for (auto &[entry, group] : byEntry)
    groups.push_back(std::move(group));
  llvm::sort(groups, [](const KernelGroup &left, const KernelGroup &right) {
    return std::tie(right.microseconds, left.name) < std::tie(left.microseconds, right.name);
  });
  return groups;
}

double totalMicroseconds(const std::vector<KernelGroup> &groups) {
  double total = 0;
  for (const KernelGroup &group : groups)
    total += group.microseconds;
  return total;
}

double leastMilliseconds(const Measurement &measured) {
  double least = 0;
  for (const KernelTime &kernel : measured.kernels)
    least += measured.peaks ? 1e-3 * kernel.leastMicroseconds(*measured.peaks) : 0;
  return least;
}

static llvm::json::Array kernelsJson(const Measurement &measured) {
  llvm::json::Array list;
  for (const KernelTime &kernel : measured.kernels) {
    double least = measured.peaks ? kernel.leastMicroseconds(*measured.peaks) : 0;
    list.push_back(llvm::json::Object{{"number", kernel.number},
                                      {"name", kernel.name},
                                      {"entry", kernel.entry},
                                      {"time_us", kernel.microseconds},
                                      {"bytes", kernel.bytes},
                                      {"flops", kernel.flops},
                                      {"roofline_share", shareOf(least, kernel.microseconds)},
                                      {"onnx_nodes", llvm::json::Array(kernel.onnxNodes)}});
  }
  return list;
}

static llvm::json::Array profileJson(const Measurement &measured) {
  std::vector<KernelGroup> groups = groupKernels(measured);
  double total = totalMicroseconds(groups);
  llvm::json::Array list;
  for (const KernelGroup &group : groups)
    list.push_back(llvm::json::Object{
        {"name", group.name},
        {"launches", static_cast<int64_t>(group.launches)},
        {"time_us", group.microseconds},
        {"share", total > 0 ? group.microseconds / total : 0},
        {"bytes", group.bytes},
        {"flops", group.flops},
        {"roofline_share", shareOf(group.leastMicroseconds, group.microseconds)}});
  return list;
}

static llvm::json::Object distributionJson(const Distribution &times,
                                           const std::vector<std::string> &percents) {
  llvm::json::Object percentiles;
  for (const std::string &percent : percents)
    percentiles[percent] = times.percentile(std::stod(percent));
  return llvm::json::Object{{"median", times.median()},
                            {"min", times.min()},
                            {"max", times.max()},
                            {"mean", times.mean()},
                            {"variation", times.variation()},
                            {"percentiles", std::move(percentiles)},
                            {"samples", static_cast<int64_t>(times.sorted.size())}};
}

static llvm::json::Object singleRunsJson(const Measurement &measured,
                                         const std::vector<std::string> &percents) {
  llvm::json::Object runs{
      {"streams", static_cast<int64_t>(measured.options.streams)},
      {"throughput_per_s", measured.runsPerSecond()},
      {"compute_ms", distributionJson(measured.of(&RunTime::computeMilliseconds), percents)},
      {"enqueue_us", distributionJson(measured.of(&RunTime::enqueueMicroseconds), percents)}};
  if (measured.options.copies) {
    runs["in_ms"] = distributionJson(measured.of(&RunTime::inMilliseconds), percents);
    runs["out_ms"] = distributionJson(measured.of(&RunTime::outMilliseconds), percents);
  }
  return runs;
}

static llvm::json::Array statesJson(const Measurement &measured) {
  llvm::json::Array list;
  for (const GpuState &state : measured.states)
    list.push_back(
        llvm::json::Object{{"clock_mhz", static_cast<int64_t>(state.clockMhz)},
                           {"highest_clock_mhz", static_cast<int64_t>(state.highestClockMhz)},
                           {"memory_clock_mhz", static_cast<int64_t>(state.memoryClockMhz)},
                           {"celsius", static_cast<int64_t>(state.celsius)},
                           {"slowed_by", llvm::json::Array(state.slowedBy)},
                           {"processes", static_cast<int64_t>(state.processes)}});
  return list;
}

llvm::json::Object benchJson(const std::string &model, const Session &session,
                             const std::vector<Array> &inputs, const Measurement &measured,
                             const std::vector<std::string> &percents) {
  Distribution latency(measured.latencies);
  llvm::json::Object shapes;
  for (size_t i = 0; i < inputs.size(); ++i)
    shapes[session.signature().inputs[i].name] = llvm::json::Array(inputs[i].shape);
  return llvm::json::Object{
      {"schema", "smelt.bench/1"},
      {"model", model},
      {"device", session.deviceName()},
      {"shapes", std::move(shapes)},
      {"latency_ms", llvm::json::Object{{"median", latency.median()},
                                        {"p99", latency.percentile(99)},
                                        {"min", latency.min()},
                                        {"mean", latency.mean()},
                                        {"samples", static_cast<int64_t>(latency.sorted.size())}}},
      {"single_runs", singleRunsJson(measured, percents)},
      {"roofline_share", shareOf(leastMilliseconds(measured), latency.median())},
      {"gpu_states", statesJson(measured)},
      {"warnings", llvm::json::Array(measured.warnings)},
      {"profile", profileJson(measured)},
      {"kernels", kernelsJson(measured)}};
}

} // namespace smelt::tools
