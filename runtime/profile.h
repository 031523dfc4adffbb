// How long a prepared context takes: as a whole, and kernel by kernel. Times are the device's,
// taken by events, and hold no transfers when device memory is bound.
#pragma once

#include "runtime/context.h"

#include <functional>

namespace smelt::runtime {

/// How far a measurement is.
struct TimingProgress {
  bool isWarmUp;
  double share; ///< of the warm-up, or of what is measured after it; up to 1
};

/// Called between what is timed, when all of it is over and nothing waits: it may take its time, which
/// is in no figure.
using TimingProgressHandler = std::function<void(const TimingProgress &)>;

struct TimingOptions {
  double warmupSeconds = 0.2;
  double seconds = 3.0;
  /// A sample is the mean of as many back-to-back launches as fill this time; with 0, every launch
  /// is a sample by itself and carries the cost of an event, about a microsecond.
  double sampleMilliseconds = 20.0;
  TimingProgressHandler progress = {};
};

/// Milliseconds for one graph launch, sample by sample, at least five. The context must be ready to
/// enqueue; the stream must not be the default one.
Result<std::vector<double>> timeGraph(Context &context, CUstream stream,
                                      const TimingOptions &options);

/// One run by itself, as an application sees it.
struct RunTime {
  double computeMilliseconds = 0;
  double inMilliseconds = 0, outMilliseconds = 0; ///< of the copies; 0 without
  double enqueueMicroseconds = 0;                 ///< of the processor, until the run is queued
};

/// A context and a stream of its own, with what is queued before and behind each run: copies of inputs
/// and outputs, or nothing.
struct Lane {
  Context *context;
  CUstream stream;
  std::function<Status(CUstream)> copyIn, copyOut;
};

struct RunTimes {
  std::vector<RunTime> runs;
  double seconds =
      0; ///< that all of them took, by the clock on the wall; not what lay between batches
};

struct RunOptions {
  double warmupSeconds = 0.2;
  double seconds = 3.0;
  size_t leastRuns = 10;
  double batchSeconds = 1.0; ///< after which the lanes run empty, and `progress` hears of it
  TimingProgressHandler progress = {};
};

/// Times every run by itself, taking turns between the lanes, whose runs may overlap. The contexts must
/// be ready to enqueue, and no stream the default one. A time carries the cost of an event, about a microsecond.
Result<RunTimes> timeRuns(const std::vector<Lane> &lanes, const RunOptions &options);

/// Microseconds for each launch of the program when launched by itself, in the program's order: the
/// median over the repetitions of the time between two events around it, less the least time between
/// two events around nothing. Launches without work take 0.
Result<std::vector<double>> timeKernels(Context &context, CUstream stream, size_t repetitions,
                                        const TimingProgressHandler &progress = {});

/// One launch of the current shapes, and what it takes by itself.
struct LaunchTime {
  const PlannedLaunch *planned; ///< lives as long as the engine
  double microseconds;
  int64_t bytes, flops; ///< 0 where the plan does not tell
};

/// timeKernels() on a stream of its own, for a context of which every run is over.
Result<std::vector<LaunchTime>> profileLaunches(Context &context, size_t repetitions);

/// The middle value; the mean of the two middle ones for an even count. 0 for none.
double median(std::vector<double> values);

} // namespace smelt::runtime
