#include "tools/smelt/measurement.h"

#include "runtime/text.h"
#include "tools/smelt/limits.h"
#include "tools/smelt/report.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

namespace smelt::tools {

using runtime::RunTime;

static constexpr double kShareOfSingleRuns = 1.0 / 3;
static constexpr size_t kLeastSamples = 5;
// What makes figures doubtful.
static constexpr double kUnstable = 0.1;
static constexpr double kClockChange = 0.03;

Distribution::Distribution(std::vector<double> samples) : sorted(std::move(samples)) {
  std::sort(sorted.begin(), sorted.end());
}

double Distribution::mean() const {
  return std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size());
}

double Distribution::median() const {
  return (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
}

double Distribution::percentile(double percent) const {
  double rank = std::ceil(percent / 100 * static_cast<double>(sorted.size()));
  return sorted[std::clamp<size_t>(static_cast<size_t>(rank), 1, sorted.size()) - 1];
}

double Distribution::variation() const {
  double center = mean(), squares = 0;
  for (double sample : sorted)
    squares += (sample - center) * (sample - center);
  return center == 0 ? 0 : std::sqrt(squares / static_cast<double>(sorted.size())) / center;
}

Distribution Measurement::of(double RunTime::*member) const {
  std::vector<double> samples;
  samples.reserve(runs.runs.size());
  for (const RunTime &run : runs.runs)
    samples.push_back(run.*member);
  return Distribution(std::move(samples));
}

/// Says on stderr how far `what` is, or the warm-up before it.
static runtime::TimingProgressHandler shownAs(const char *what, ProgressLine &line) {
  return [what, &line](const runtime::TimingProgress &progress) {
    line.showShare(progress.isWarmUp ? "warming up" : what, progress.share);
  };
}

/// Runs in the interpreter for the measured time, after the warm-up, whose first run also folds constants.
static Status measureOnCpu(Session &session, const std::vector<Array> &inputs,
                           const MeasureOptions &options, Measurement &measurement) {
  using Clock = std::chrono::steady_clock;
  auto secondsSince = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  ProgressLine line;
  for (Clock::time_point begin = Clock::now();;) {
    SMELT_RETURN_IF_ERROR(session.run(inputs).status());
    double passed = secondsSince(begin);
    if (passed >= options.warmupSeconds)
      break;
    line.showShare("warming up", passed / options.warmupSeconds);
  }
  auto &[runs, seconds] = measurement.runs;
  auto least = static_cast<double>(std::max(options.iterations, kLeastSamples));
  for (double share = 0; share < 1;) {
    Clock::time_point start = Clock::now();
    SMELT_RETURN_IF_ERROR(session.run(inputs).status());
    double taken = secondsSince(start);
    seconds += taken;
    runs.push_back({1e3 * taken, 0, 0, 0});
    measurement.latencies.push_back(runs.back().computeMilliseconds);
    share = std::min(seconds / options.seconds, static_cast<double>(runs.size()) / least);
    line.showShare("measuring single runs", std::min(share, 1.0));
  }
  return {};
}

static Status measureOnGpu(const CudaSession &session, const std::vector<Array> &inputs,
                           const MeasureOptions &options, Measurement &measurement) {
  auto noteState = [&] {
    if (std::optional<GpuState> state = readGpuState(*session.sharedEngine()->device()))
      measurement.states.push_back(std::move(*state));
  };
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<GpuBench> bench,
                         GpuBench::prepare(session, inputs, {options.streams, options.copies}));
  ProgressLine line;
  SMELT_ASSIGN_OR_RETURN(
      measurement.latencies,
      bench->timeGraph({.warmupSeconds = options.warmupSeconds,
                        .seconds = options.seconds,
                        .progress = shownAs("measuring launches back to back", line)}));
  noteState();
  runtime::RunOptions single{.warmupSeconds = options.warmupSeconds,
                             .seconds = options.seconds * kShareOfSingleRuns,
                             .leastRuns = std::max(options.iterations, kLeastSamples),
                             .progress = shownAs("measuring single runs", line)};
  SMELT_ASSIGN_OR_RETURN(measurement.runs, bench->timeRuns(single));
  noteState();
  SMELT_ASSIGN_OR_RETURN(
      measurement.kernels,
      bench->timeKernels(GpuBench::kUsualRepetitions, shownAs("measuring kernels", line)));
  SMELT_ASSIGN_OR_RETURN(measurement.peaks, bench->peaks());
  return {};
}

/// What the GPU's state says against the figures.
static void warnOfStates(Measurement &measurement) {
  const std::vector<GpuState> &states = measurement.states;
  if (states.size() < 2)
    return;
  double first = states[0].clockMhz, last = states[1].clockMhz;
  if (std::abs(first - last) > kClockChange * std::max(first, last))
    measurement.warnings.push_back(joinText("the clocks moved from ", states[0].clockMhz, " to ",
                                            states[1].clockMhz,
                                            " MHz while measuring; lock them to compare figures"));
  if (!states[1].slowedBy.empty())
    measurement.warnings.push_back("the GPU is slowed down by " +
                                   llvm::join(states[1].slowedBy, " and "));
  if (states[1].processes > 1)
    measurement.warnings.push_back(
        joinText("the GPU is shared: ", states[1].processes, " processes compute on it"));
}

static void warnOfRuns(Measurement &measurement) {
  Distribution compute = measurement.of(&RunTime::computeMilliseconds);
  if (double variation = compute.variation(); variation > kUnstable)
    measurement.warnings.push_back(
        joinText("single runs vary by ", numberText(100 * variation, 0),
                 " % (standard deviation over mean); something else is at work, or clocks move"));
  double enqueue = measurement.of(&RunTime::enqueueMicroseconds).median() * 1e-3;
  if (enqueue > compute.median())
    measurement.warnings.push_back(joinText("a run is bound by the processor: enqueuing takes ",
                                            shortText(enqueue), " ms, computing ",
                                            shortText(compute.median())));
}

Result<Measurement> measure(const OpenModel &model, const std::vector<Array> &inputs,
                            const MeasureOptions &options) {
  setActivity("measuring the model");
  Measurement measurement;
  measurement.options = options;
  if (model.cuda)
    SMELT_RETURN_IF_ERROR(measureOnGpu(*model.cuda, inputs, options, measurement));
  else
    SMELT_RETURN_IF_ERROR(measureOnCpu(*model.session, inputs, options, measurement));
  warnOfStates(measurement);
  warnOfRuns(measurement);
  return measurement;
}

} // namespace smelt::tools
