// How long a model takes: what `smelt bench` and `smelt trtexec` print.
#pragma once

#include "tools/smelt/gpu_bench.h"
#include "tools/smelt/gpu_state.h"
#include "tools/smelt/open.h"

namespace smelt::tools {

struct MeasureOptions {
  double seconds = 3.0; ///< back to back; single runs take a third of it more
  double warmupSeconds = 0.2;
  size_t iterations = 10; ///< single runs at least
  size_t streams = 1;
  bool copies = false;
};

/// Of samples, at least one.
struct Distribution {
  std::vector<double> sorted;

  explicit Distribution(std::vector<double> samples);
  double min() const { return sorted.front(); }
  double max() const { return sorted.back(); }
  double mean() const;
  double median() const;
  /// The least sample that so many percent of all do not exceed.
  double percentile(double percent) const;
  /// Standard deviation over mean; 0 where the mean is.
  double variation() const;
};

struct Measurement {
  /// Milliseconds of a launch: on a GPU samples of launches back to back, on the CPU single runs.
  std::vector<double> latencies;
  runtime::RunTimes runs; ///< single ones
  MeasureOptions options;
  std::vector<KernelTime> kernels; ///< of a run; none on the CPU
  std::optional<Peaks> peaks;
  std::vector<GpuState> states; ///< behind the launches back to back, and behind the single runs
  std::vector<std::string> warnings;

  /// One member of all single runs.
  Distribution of(double runtime::RunTime::*member) const;
  double runsPerSecond() const { return static_cast<double>(runs.runs.size()) / runs.seconds; }
};

/// Runs the model with these inputs; on the CPU without streams and copies. Fails as the device does.
Result<Measurement> measure(const OpenModel &model, const std::vector<Array> &inputs,
                            const MeasureOptions &options);

} // namespace smelt::tools
