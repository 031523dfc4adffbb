// What one plan costs at several shapes, in one process: single runs on the device, and the host's
// part of them. For tools/bench/dynamic_vs_fixed.py; with --fake it needs no GPU and measures what
// the host does around the driver's calls.
//
// usage: measure-plan PLAN [--fake] [--seconds S] --shape a=1x128,b=1x128 [--shape ...]
//                     [--rival PLAN [--rival ...]]
//
// Prints {"device", "shapes": [{"shape", "launches", "median_ms", "p99_ms", "new_us", "update_us",
// "known_us", "enqueue_us", "queued_us"}]}: milliseconds of a run between two events, and median
// microseconds of making a shape ready that was never seen; of making it ready in the place of
// another; of going back to it, bindings included; and, of processor time, of one enqueue while the
// GPU is idle, and of one behind others. The workspace is the caller's, as large as the largest
// shape needs, so that no time is that of an allocation. With rivals, a plan for each shape, the
// figures of its runs and enqueues are there too, as "rival_median_ms" and so on; the two take
// turns, so that both run at the clock that the other's heat leaves.
#include "runtime/context.h"
#include "runtime/fake_driver.h"
#include "runtime/profile.h"
#include "runtime/text.h"

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <optional>
#include <random>

using namespace smelt;
using namespace smelt::runtime;

namespace {

constexpr int kPrepareSamples = 21, kSwitchSamples = 201;
constexpr int kEnqueueSamples = 60; ///< in a turn
constexpr int kQueuedRuns = 4;
constexpr int kTurns = 6; ///< spread over time, as the clocks of host and GPU change

struct Flags {
  std::string plan;
  bool fake = false;
  double seconds = 1;
  std::vector<std::string> shapes, rivals;
};

/// One shape of all inputs, with memory for every input and output.
struct Case {
  std::string text;
  std::vector<std::pair<std::string, Shape>> shapes;
  std::vector<DeviceMemory> memory;
  std::vector<std::pair<std::string, Binding>> inputs, outputs;
};

using Clock = std::chrono::steady_clock;

double microsecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

/// Of processor time that this thread has taken: what else the machine does, does not count.
double threadMicroseconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) * 1e-3;
}

/// "a=1x128,b=3": (a, [1, 128]) and (b, [3]).
Result<std::vector<std::pair<std::string, Shape>>> parseShapes(const std::string &text) {
  std::vector<std::pair<std::string, Shape>> shapes;
  for (const std::string &part : CLI::detail::split(text, ',')) {
    size_t equals = part.find('=');
    if (equals == std::string::npos)
      return Status(StatusCode::kUsage, "--shape takes name=1x128, not '" + part + "'");
    Shape shape;
    for (const std::string &extent : CLI::detail::split(part.substr(equals + 1), 'x'))
      shape.push_back(std::strtoll(extent.c_str(), nullptr, 10));
    shapes.emplace_back(part.substr(0, equals), std::move(shape));
  }
  return shapes;
}

/// Random values that a model can take: small floats, valid rows, ones for other integers.
std::vector<std::byte> randomValues(const plan::TensorT &tensor, uint64_t bytes) {
  std::vector<std::byte> values(bytes);
  std::mt19937_64 random(1);
  uint32_t width = plan::elementBytes(tensor.element_type);
  for (uint64_t at = 0; at + width <= bytes; at += width) {
    uint64_t bits = 1;
    if (tensor.element_type == plan::ElementType::f32)
      bits = 0x3E000000 | (random() & 0x80FFFFFF);
    else if (tensor.element_type == plan::ElementType::f16)
      bits = 0x3000 | (random() & 0x8BFF);
    else if (tensor.element_type == plan::ElementType::bf16)
      bits = 0x3E00 | (random() & 0x80FF);
    else if (tensor.row_bound > 0)
      bits = random() % static_cast<uint64_t>(tensor.row_bound);
    std::memcpy(values.data() + at, &bits, width);
  }
  return values;
}

/// A plan on the device, ready at each of the shapes.
class Measurement {
public:
  Measurement(const Flags &flags, SharedEngine engine, CUstream stream)
      : flags(flags), engine(std::move(engine)), stream(stream) {}

  Status prepare(const std::vector<std::string> &shapes) {
    for (const std::string &text : shapes) {
      SMELT_ASSIGN_OR_RETURN(Case made, makeCase(text));
      cases.push_back(std::move(made));
    }
    SMELT_RETURN_IF_ERROR(provideWorkspace());
    ContextOptions options;
    options.cachedShapes = std::max(options.cachedShapes, cases.size());
    SMELT_ASSIGN_OR_RETURN(known, makeContext(options));
    for (const Case &each : cases)
      SMELT_RETURN_IF_ERROR(makeReady(*known, each));
    return {};
  }

  /// The figures of shape `index`, as members of a JSON object; `rival` runs it too, or is null.
  Result<std::string> measure(size_t index, Measurement *rival) {
    SMELT_ASSIGN_OR_RETURN(std::string figures, readyFigures(index));
    Samples own, other;
    for (int turn = 0; turn < kTurns; ++turn) {
      SMELT_RETURN_IF_ERROR(takeTurn(own));
      if (rival)
        SMELT_RETURN_IF_ERROR(rival->takeTurn(other));
    }
    figures += runFigures("", std::move(own));
    return rival ? figures + runFigures("rival_", std::move(other)) : figures;
  }

private:
  /// Of runs, in milliseconds, and of enqueues, in microseconds of processor time.
  struct Samples {
    std::vector<double> runs, idle, queued;
  };

  static std::string member(const std::string &name, double value) {
    char text[64];
    std::snprintf(text, sizeof(text), ", \"%s\": %.5f", name.c_str(), value);
    return text;
  }

  std::string runFigures(const std::string &prefix, Samples samples) const {
    std::string figures = member(prefix + "enqueue_us", median(std::move(samples.idle))) +
                          member(prefix + "queued_us", median(std::move(samples.queued)));
    if (flags.fake)
      return figures;
    std::vector<double> &times = samples.runs;
    std::sort(times.begin(), times.end());
    return figures + member(prefix + "median_ms", times[times.size() / 2]) +
           member(prefix + "p99_ms", times[(times.size() - 1) * 99 / 100]);
  }

  /// Enqueues and single runs at the shape that is ready.
  Status takeTurn(Samples &samples) {
    SMELT_RETURN_IF_ERROR(timeEnqueue(1, samples.idle));
    SMELT_RETURN_IF_ERROR(timeEnqueue(kQueuedRuns, samples.queued));
    if (flags.fake)
      return {};
    TimingOptions options;
    options.seconds = flags.seconds / kTurns;
    options.warmupSeconds = options.seconds / 2;
    options.sampleMilliseconds = 0; // single runs
    SMELT_ASSIGN_OR_RETURN(std::vector<double> more, timeGraph(*known, stream, options));
    samples.runs.insert(samples.runs.end(), more.begin(), more.end());
    return {};
  }

  Result<std::unique_ptr<Context>> makeContext(const ContextOptions &options) {
    SMELT_ASSIGN_OR_RETURN(auto context, Context::create(engine, options));
    SMELT_RETURN_IF_ERROR(
        context->setWorkspace(reinterpret_cast<void *>(workspace.address()), workspace.bytes()));
    return context;
  }

  Result<Binding> place(Case &each, const plan::TensorT &tensor, const Shape &shape, bool isInput) {
    uint64_t bytes = plan::elementBytes(tensor.element_type);
    for (int64_t extent : shape)
      bytes *= static_cast<uint64_t>(extent);
    SMELT_ASSIGN_OR_RETURN(DeviceMemory room,
                           DeviceMemory::allocate(engine->device(), {}, bytes, "a tensor"));
    if (isInput && bytes > 0) {
      std::vector<std::byte> values = randomValues(tensor, bytes);
      SMELT_RETURN_IF_CUDA_ERROR(engine->api(), "copying an input", cuMemcpyHtoDAsync,
                                 room.address(), values.data(), bytes, stream);
      SMELT_RETURN_IF_CUDA_ERROR(engine->api(), "copying an input", cuStreamSynchronize, stream);
    }
    each.memory.push_back(std::move(room));
    return Binding{tensor.element_type, Location::kDevice,
                   reinterpret_cast<void *>(each.memory.back().address()), bytes};
  }

  Result<Case> makeCase(const std::string &text) {
    Case each;
    each.text = text;
    SMELT_ASSIGN_OR_RETURN(each.shapes, parseShapes(text));
    SMELT_ASSIGN_OR_RETURN(auto context, Context::create(engine, {}));
    for (const auto &[name, shape] : each.shapes)
      SMELT_RETURN_IF_ERROR(context->setInputShape(name, shape));
    for (const auto &tensor : engine->metadata().outputs) {
      SMELT_ASSIGN_OR_RETURN(Shape shape, context->outputShape(tensor->name));
      SMELT_ASSIGN_OR_RETURN(Binding binding, place(each, *tensor, shape, false));
      each.outputs.emplace_back(tensor->name, binding);
    }
    for (const auto &tensor : engine->metadata().inputs)
      for (const auto &[name, shape] : each.shapes)
        if (name == tensor->name) {
          SMELT_ASSIGN_OR_RETURN(Binding binding, place(each, *tensor, shape, true));
          each.inputs.emplace_back(name, binding);
        }
    SMELT_ASSIGN_OR_RETURN(uint64_t bytes, context->workspaceBytes());
    workspaceBytes = std::max(workspaceBytes, bytes);
    return each;
  }

  Status provideWorkspace() {
    SMELT_ASSIGN_OR_RETURN(workspace, DeviceMemory::allocate(engine->device(), {},
                                                             std::max<uint64_t>(workspaceBytes, 1),
                                                             "the workspace"));
    return {};
  }

  static Status makeReady(Context &context, const Case &each) {
    for (const auto &[name, shape] : each.shapes)
      SMELT_RETURN_IF_ERROR(context.setInputShape(name, shape));
    for (const auto &[name, binding] : each.inputs)
      SMELT_RETURN_IF_ERROR(context.bindInput(name, binding));
    for (const auto &[name, binding] : each.outputs)
      SMELT_RETURN_IF_ERROR(context.bindOutput(name, binding));
    return context.prepare();
  }

  /// Median microseconds of making case `index` ready in `context()`, after `before(context)`.
  template <typename Before>
  Result<double> timeReady(int samples, const Case &each, Before before) {
    std::vector<double> times;
    for (int i = 0; i < samples; ++i) {
      SMELT_ASSIGN_OR_RETURN(Context * context, before());
      Clock::time_point start = Clock::now();
      SMELT_RETURN_IF_ERROR(makeReady(*context, each));
      times.push_back(microsecondsSince(start));
    }
    return median(std::move(times));
  }

  /// Of the last of `count` enqueues that follow each other.
  Status timeEnqueue(int count, std::vector<double> &times) {
    for (int i = 0; i < kEnqueueSamples / count; ++i) {
      for (int run = 1; run < count; ++run)
        SMELT_RETURN_IF_ERROR(known->enqueue(stream));
      double start = threadMicroseconds();
      SMELT_RETURN_IF_ERROR(known->enqueue(stream));
      times.push_back(threadMicroseconds() - start);
      SMELT_RETURN_IF_CUDA_ERROR(engine->api(), "waiting", cuStreamSynchronize, stream);
    }
    return {};
  }

  Result<std::string> readyFigures(size_t index) {
    const Case &each = cases[index], &other = cases[(index + 1) % cases.size()];
    std::unique_ptr<Context> own;
    SMELT_ASSIGN_OR_RETURN(double fresh,
                           timeReady(kPrepareSamples, each, [&]() -> Result<Context *> {
                             SMELT_ASSIGN_OR_RETURN(own, makeContext({}));
                             return own.get();
                           }));
    ContextOptions single;
    single.cachedShapes = 1;
    SMELT_ASSIGN_OR_RETURN(own, makeContext(single));
    SMELT_ASSIGN_OR_RETURN(double updated,
                           timeReady(kPrepareSamples, each, [&]() -> Result<Context *> {
                             SMELT_RETURN_IF_ERROR(makeReady(*own, other));
                             return own.get();
                           }));
    SMELT_ASSIGN_OR_RETURN(double back, timeReady(kSwitchSamples, each, [&]() -> Result<Context *> {
                             SMELT_RETURN_IF_ERROR(makeReady(*known, other));
                             return known.get();
                           }));
    SMELT_ASSIGN_OR_RETURN(Context::Ready ready, known->ready());
    std::string figures = joinText("\"shape\": \"", each.text,
                                   "\", \"launches\": ", ready.graph->schedule().launches.size());
    return figures + member("new_us", fresh) + member("update_us", updated) +
           member("known_us", back);
  }

  const Flags &flags;
  SharedEngine engine;
  CUstream stream;
  std::vector<Case> cases;
  uint64_t workspaceBytes = 0;
  DeviceMemory workspace;
  std::unique_ptr<Context> known; ///< of all cases
};

Result<SharedEngine> load(const std::string &path, const Driver &driver) {
  SMELT_ASSIGN_OR_RETURN(Plan plan, readPlan(path));
  return Engine::create(plan, driver, {});
}

Status measurePlan(const Flags &flags) {
  SMELT_ASSIGN_OR_RETURN(Plan plan, readPlan(flags.plan));
  FakeDriver fake;
  Driver driver;
  if (flags.fake) {
    fake.addKernels(*chooseProgram(plan.metadata(), 90, 227 << 10));
    driver = fake.driver();
  } else {
    SMELT_ASSIGN_OR_RETURN(driver, openDriver());
  }
  SMELT_ASSIGN_OR_RETURN(SharedEngine engine, Engine::create(plan, driver, {}));
  SMELT_ASSIGN_OR_RETURN(CurrentContext current, CurrentContext::enter(*engine->device()));
  SMELT_ASSIGN_OR_RETURN(OwnStream stream, OwnStream::create(*driver));
  Measurement measurement(flags, engine, stream.get());
  SMELT_RETURN_IF_ERROR(measurement.prepare(flags.shapes));
  std::string list;
  for (size_t i = 0; i < flags.shapes.size(); ++i) {
    std::optional<Measurement> rival;
    if (!flags.rivals.empty()) {
      SMELT_ASSIGN_OR_RETURN(SharedEngine other, load(flags.rivals[i], driver));
      rival.emplace(flags, other, stream.get());
      SMELT_RETURN_IF_ERROR(rival->prepare({flags.shapes[i]}));
    }
    SMELT_ASSIGN_OR_RETURN(std::string figures, measurement.measure(i, rival ? &*rival : nullptr));
    list += (i > 0 ? ",\n  {" : "{") + figures + "}";
  }
  std::printf("{\"device\": \"%s\", \"shapes\": [\n  %s\n]}\n", engine->device()->name().c_str(),
              list.c_str());
  return {};
}

} // namespace

int main(int count, char **values) {
  Flags flags;
  CLI::App app("What one plan costs at several shapes");
  app.add_option("plan", flags.plan, "the .plan file")->required();
  app.add_flag("--fake", flags.fake, "no GPU: the host's part alone, kernels compute nothing");
  app.add_option("--seconds", flags.seconds, "of single runs, for each shape");
  app.add_option("--shape", flags.shapes, "name=1x128,name=...: one shape of all inputs")
      ->required();
  app.add_option("--rival", flags.rivals, "for each shape: another plan, which takes turns");
  CLI11_PARSE(app, count, values);
  if (!flags.rivals.empty() && (flags.fake || flags.rivals.size() != flags.shapes.size())) {
    std::fprintf(stderr, "measure-plan: rivals need a GPU, and there is one for each shape\n");
    return static_cast<int>(StatusCode::kUsage);
  }
  Status status = measurePlan(flags);
  if (!status.isOk())
    std::fprintf(stderr, "measure-plan: %s\n", status.message().c_str());
  return static_cast<int>(status.code());
}
