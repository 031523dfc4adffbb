#include "runtime/profile.h"

#include "runtime/stream_timer.h"

#include <algorithm>
#include <chrono>

namespace smelt::runtime {

namespace {

constexpr size_t kMinSamples = 5;
constexpr size_t kBurstLaunches = 64;     // samples of single launches taken between two waits
constexpr size_t kRunsInFlight = 8;       // of each lane: enough to keep it busy
constexpr size_t kLaunchesPerGate = 100;  // what a stream surely queues without blocking its caller
constexpr double kMinMilliseconds = 1e-3; // below the resolution of events

/// Milliseconds of each of `samples` samples of `launches` launches each, back to back.
Result<std::vector<double>> timeBurst(Context &context, CUstream stream,
                                      const std::vector<Event> &events, size_t samples,
                                      size_t launches) {
  SMELT_RETURN_IF_ERROR(events[0].record(stream));
  for (size_t sample = 0; sample < samples; ++sample) {
    for (size_t i = 0; i < launches; ++i)
      SMELT_RETURN_IF_ERROR(context.enqueue(stream));
    SMELT_RETURN_IF_ERROR(events[sample + 1].record(stream));
  }
  SMELT_RETURN_IF_ERROR(events[samples].wait());
  std::vector<double> times;
  for (size_t sample = 0; sample < samples; ++sample) {
    SMELT_ASSIGN_OR_RETURN(double total, events[sample].millisecondsUntil(events[sample + 1]));
    times.push_back(total / static_cast<double>(launches));
  }
  return times;
}

class Stopwatch {
public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

private:
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

/// Of work that lasts until both so many seconds have passed and so many of its parts are done.
double shareDone(double seconds, double ofSeconds, size_t parts, size_t ofParts) {
  double bySeconds = ofSeconds > 0 ? seconds / ofSeconds : 1;
  double byParts = ofParts > 0 ? static_cast<double>(parts) / static_cast<double>(ofParts) : 1;
  return std::min({1.0, bySeconds, byParts});
}

/// Runs launches for a while and tells how long one takes.
Result<double> warmUp(Context &context, CUstream stream, const std::vector<Event> &events,
                      const TimingOptions &options) {
  Stopwatch watch;
  double latest = 0, passed = 0;
  for (size_t i = 0; i < kMinSamples || passed < options.warmupSeconds; ++i) {
    SMELT_ASSIGN_OR_RETURN(std::vector<double> times, timeBurst(context, stream, events, 1, 1));
    latest = times[0];
    passed = watch.seconds();
    if (options.progress)
      options.progress({true, shareDone(passed, options.warmupSeconds, i + 1, kMinSamples)});
  }
  return std::max(latest, kMinMilliseconds);
}

/// Times launches [first, end) of the program once each; appends to `times` of each and to `empty`,
/// the times of nothing.
Status timeLaunches(const DriverApi &api, const Context::Ready &ready, CUstream stream,
                    const std::vector<Event> &events, size_t first, size_t end,
                    std::vector<std::vector<double>> &times, std::vector<double> &empty) {
  Gate gate(api, stream);
  SMELT_RETURN_IF_ERROR(gate.queue());
  size_t next = 0;
  SMELT_RETURN_IF_ERROR(events[next++].record(stream));
  SMELT_RETURN_IF_ERROR(events[next++].record(stream));
  for (size_t i = first; i < end; ++i) {
    SMELT_RETURN_IF_ERROR(events[next++].record(stream));
    SMELT_RETURN_IF_ERROR(ready.graph->launchOne(i, ready.addresses, stream));
    SMELT_RETURN_IF_ERROR(events[next++].record(stream));
  }
  gate.open();
  SMELT_RETURN_IF_ERROR(events[next - 1].wait());
  SMELT_ASSIGN_OR_RETURN(double nothing, events[0].millisecondsUntil(events[1]));
  empty.push_back(nothing * 1e3);
  for (size_t i = first; i < end; ++i) {
    size_t start = 2 + 2 * (i - first);
    SMELT_ASSIGN_OR_RETURN(double taken, events[start].millisecondsUntil(events[start + 1]));
    times[i].push_back(taken * 1e3);
  }
  return {};
}

/// The four events around a run and its copies.
struct RunEvents {
  Event start, compute, out, end;
  double enqueueMicroseconds = 0;

  static Result<RunEvents> create(const DriverApi &api) {
    SMELT_ASSIGN_OR_RETURN(Event start, Event::create(api));
    SMELT_ASSIGN_OR_RETURN(Event compute, Event::create(api));
    SMELT_ASSIGN_OR_RETURN(Event out, Event::create(api));
    SMELT_ASSIGN_OR_RETURN(Event end, Event::create(api));
    return RunEvents{std::move(start), std::move(compute), std::move(out), std::move(end)};
  }

  /// Queues one run of the lane with the events around it.
  Status queue(const Lane &lane) {
    SMELT_RETURN_IF_ERROR(start.record(lane.stream));
    if (lane.copyIn) {
      SMELT_RETURN_IF_ERROR(lane.copyIn(lane.stream));
      SMELT_RETURN_IF_ERROR(compute.record(lane.stream));
    }
    Stopwatch watch;
    SMELT_RETURN_IF_ERROR(lane.context->enqueue(lane.stream));
    enqueueMicroseconds = watch.seconds() * 1e6;
    if (lane.copyOut) {
      SMELT_RETURN_IF_ERROR(out.record(lane.stream));
      SMELT_RETURN_IF_ERROR(lane.copyOut(lane.stream));
    }
    return end.record(lane.stream);
  }

  Result<RunTime> read(const Lane &lane) const {
    RunTime time;
    time.enqueueMicroseconds = enqueueMicroseconds;
    const Event &from = lane.copyIn ? compute : start, &until = lane.copyOut ? out : end;
    SMELT_ASSIGN_OR_RETURN(time.computeMilliseconds, from.millisecondsUntil(until));
    if (lane.copyIn) {
      SMELT_ASSIGN_OR_RETURN(time.inMilliseconds, start.millisecondsUntil(compute));
    }
    if (lane.copyOut) {
      SMELT_ASSIGN_OR_RETURN(time.outMilliseconds, out.millisecondsUntil(end));
    }
    return time;
  }
};

/// Runs the lanes in turn until `isEnough`, never more than the events allow in flight. Appends the times.
Status runInTurn(const std::vector<Lane> &lanes, std::vector<RunEvents> &events,
                 const std::function<bool(size_t queued)> &isEnough, std::vector<RunTime> &runs) {
  size_t queued = 0;
  auto laneOf = [&](size_t run) -> const Lane & { return lanes[run % lanes.size()]; };
  auto take = [&](size_t run) -> Status {
    const RunEvents &around = events[run % events.size()];
    SMELT_RETURN_IF_ERROR(around.end.wait());
    SMELT_ASSIGN_OR_RETURN(RunTime time, around.read(laneOf(run)));
    runs.push_back(time);
    return {};
  };
  for (; !isEnough(queued); ++queued) {
    if (queued >= events.size())
      SMELT_RETURN_IF_ERROR(take(queued - events.size()));
    SMELT_RETURN_IF_ERROR(events[queued % events.size()].queue(laneOf(queued)));
  }
  for (size_t run = queued - std::min(queued, events.size()); run < queued; ++run)
    SMELT_RETURN_IF_ERROR(take(run));
  return {};
}

/// What ends a batch: its own seconds, or those and the runs of all batches.
struct BatchEnd {
  double seconds, ownSeconds;
  size_t runs;
};

/// Goes on with `times`: the lanes begin and end empty.
Status runBatch(const std::vector<Lane> &lanes, std::vector<RunEvents> &events, const BatchEnd &end,
                RunTimes &times) {
  size_t before = times.runs.size();
  Stopwatch watch;
  auto isEnough = [&](size_t queued) {
    double passed = watch.seconds();
    bool isAll = before + queued >= end.runs && times.seconds + passed >= end.seconds;
    bool isWhole = queued > 0 && queued % lanes.size() == 0; // no lane gets more than others
    return isAll || (isWhole && passed >= end.ownSeconds);
  };
  SMELT_RETURN_IF_ERROR(runInTurn(lanes, events, isEnough, times.runs));
  times.seconds += watch.seconds();
  return {};
}

} // namespace

Result<RunTimes> timeRuns(const std::vector<Lane> &lanes, const RunOptions &options) {
  const Engine &engine = lanes.front().context->engine();
  SMELT_ASSIGN_OR_RETURN(CurrentContext current, CurrentContext::enter(*engine.device()));
  std::vector<RunEvents> events;
  for (size_t i = 0; i < kRunsInFlight * lanes.size(); ++i) {
    SMELT_ASSIGN_OR_RETURN(RunEvents around, RunEvents::create(engine.api()));
    events.push_back(std::move(around));
  }
  auto run = [&](bool isWarmUp, size_t least, double seconds) -> Result<RunTimes> {
    RunTimes times;
    do {
      SMELT_RETURN_IF_ERROR(runBatch(lanes, events, {seconds, options.batchSeconds, least}, times));
      if (options.progress)
        options.progress({isWarmUp, shareDone(times.seconds, seconds, times.runs.size(), least)});
    } while (times.runs.size() < least || times.seconds < seconds);
    return times;
  };
  SMELT_RETURN_IF_ERROR(run(true, lanes.size(), options.warmupSeconds).status());
  return run(false, options.leastRuns, options.seconds);
}

double median(std::vector<double> values) {
  if (values.empty())
    return 0;
  std::sort(values.begin(), values.end());
  size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Result<std::vector<double>> timeGraph(Context &context, CUstream stream,
                                      const TimingOptions &options) {
  const Engine &engine = context.engine();
  SMELT_ASSIGN_OR_RETURN(CurrentContext current, CurrentContext::enter(*engine.device()));
  bool isSingle = options.sampleMilliseconds <= 0;
  size_t burst = isSingle ? kBurstLaunches : 1;
  SMELT_ASSIGN_OR_RETURN(std::vector<Event> events, createEvents(engine.api(), burst + 1));
  SMELT_ASSIGN_OR_RETURN(double estimate, warmUp(context, stream, events, options));
  size_t launches =
      isSingle ? 1
               : std::max<size_t>(1, static_cast<size_t>(options.sampleMilliseconds / estimate));
  std::vector<double> samples;
  double passed = 0;
  for (Stopwatch watch; samples.size() < kMinSamples || passed < options.seconds;) {
    SMELT_ASSIGN_OR_RETURN(std::vector<double> times,
                           timeBurst(context, stream, events, burst, launches));
    samples.insert(samples.end(), times.begin(), times.end());
    passed = watch.seconds();
    if (options.progress)
      options.progress({false, shareDone(passed, options.seconds, samples.size(), kMinSamples)});
  }
  return samples;
}

Result<std::vector<double>> timeKernels(Context &context, CUstream stream, size_t repetitions,
                                        const TimingProgressHandler &progress) {
  const Engine &engine = context.engine();
  SMELT_ASSIGN_OR_RETURN(CurrentContext current, CurrentContext::enter(*engine.device()));
  SMELT_ASSIGN_OR_RETURN(Context::Ready ready, context.ready());
  const std::vector<ScheduledLaunch> &launches = ready.graph->schedule().launches;
  SMELT_ASSIGN_OR_RETURN(std::vector<Event> events,
                         createEvents(engine.api(), 2 + 2 * kLaunchesPerGate));
  std::vector<std::vector<double>> times(launches.size());
  std::vector<double> empty;
  for (size_t repetition = 0; repetition < repetitions; ++repetition) {
    for (size_t first = 0; first < launches.size(); first += kLaunchesPerGate)
      SMELT_RETURN_IF_ERROR(timeLaunches(engine.api(), ready, stream, events, first,
                                         std::min(first + kLaunchesPerGate, launches.size()), times,
                                         empty));
    if (progress)
      progress({false, shareDone(0, 0, repetition + 1, repetitions)});
  }
  // Nothing takes one of two times (1.31 and 1.57 us on an H200), and which one more often differs from process to
  // process: by their median all kernels of one plan took 0.26 us longer than the same ones of another.
  double nothing = empty.empty() ? 0 : *std::min_element(empty.begin(), empty.end());
  std::vector<double> medians;
  medians.reserve(launches.size());
  for (size_t i = 0; i < launches.size(); ++i)
    medians.push_back(std::max(0.0, median(times[i]) - nothing));
  return medians;
}

Result<std::vector<LaunchTime>> profileLaunches(Context &context, size_t repetitions) {
  if (repetitions == 0)
    return Status(StatusCode::kUsage, "a profile needs at least one repetition");
  const Engine &engine = context.engine();
  SMELT_RETURN_IF_ERROR(context.wait());
  SMELT_ASSIGN_OR_RETURN(CurrentContext current, CurrentContext::enter(*engine.device()));
  SMELT_ASSIGN_OR_RETURN(OwnStream stream, OwnStream::create(engine.api()));
  SMELT_ASSIGN_OR_RETURN(std::vector<double> times,
                         timeKernels(context, stream.get(), repetitions));
  SMELT_ASSIGN_OR_RETURN(Context::Ready ready, context.ready());
  const Schedule &schedule = ready.graph->schedule();
  auto value = [&](uint32_t dim) { return dim == plan::kNone ? 0 : schedule.shapes->dims[dim]; };
  std::vector<LaunchTime> launches;
  for (size_t i = 0; i < times.size(); ++i) {
    const PlannedLaunch &planned = engine.launches()[schedule.launches[i].id];
    launches.push_back(
        {&planned, times[i], value(planned.launch->bytes), value(planned.launch->flops)});
  }
  return launches;
}

} // namespace smelt::runtime
