#include "tools/smelt/tune.h"

#include "codegen/nvrtc.h"
#include "codegen/output_file.h"
#include "codegen/tunable.h"
#include "runtime/read_plan.h"
#include "runtime/text.h"
#include "tools/smelt/cuda_session.h"
#include "tools/smelt/environment.h"
#include "tools/smelt/limits.h"
#include "tools/smelt/load_plan.h"
#include "tools/smelt/report.h"
#include "tools/smelt/temporary_file.h"
#include "tools/smelt/tune_jobs.h"
#include "tools/smelt/worker_process.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <deque>
#include <thread>

namespace smelt::tools {

using codegen::TilingTime;
using codegen::TunableProduct;
using codegen::Tuning;

/// Of the dozens that the model ranks.
static constexpr size_t kTilings = 6;
/// How long the worker may be silent while it builds a kernel, starts the driver and uploads weights, and while it runs one.
static constexpr double kBuildSeconds = 300, kRunSeconds = 10;

static Result<std::string> readText(const std::string &path) {
  if (isPlan(path)) {
    SMELT_ASSIGN_OR_RETURN(runtime::Plan plan, readPlan(path));
    if (plan.metadata().tuning.empty())
      return Status(StatusCode::kUsage,
                    path + " holds no measured times: no tuning decided about its kernels");
    return plan.metadata().tuning;
  }
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file)
    return Status(StatusCode::kUsage, joinText(path, ": ", file.getError().message()));
  return (*file)->getBuffer().str();
}

static Status refuseArchitecture(const std::string &whose, const std::string &architecture,
                                 const std::vector<std::string> &architectures) {
  if (std::find(architectures.begin(), architectures.end(), architecture) != architectures.end())
    return {};
  return Status(StatusCode::kUsage,
                joinText(whose, ", which is ", architecture, ", and the plan is for ",
                         llvm::join(architectures, ", "), "; give --arch ", architecture));
}

/// No times yet, of this machine's GPU.
static Result<Tuning> tuningOfDevice(const std::vector<std::string> &architectures) {
  Result<DeviceIdentity> device = identifyDevice(0);
  if (!device.isOk())
    return Status(
        StatusCode::kEnvironment,
        joinText("--tune measures on a GPU: ", device.status().message(),
                 "\nwithout --tune the model of the kernels' times decides; --tuning FILE takes "
                 "times that were measured elsewhere"));
  SMELT_RETURN_IF_ERROR(refuseArchitecture("--tune measures on " + device->name,
                                           device->architecture, architectures));
  return Tuning(device->name, device->architecture);
}

Result<std::optional<Tuning>> readTuning(const TuneFlags &flags,
                                         const std::vector<std::string> &architectures) {
  std::optional<Tuning> here;
  if (flags.measures) {
    SMELT_ASSIGN_OR_RETURN(here, tuningOfDevice(architectures));
    if (!llvm::sys::fs::exists(flags.file))
      return here;
  } else if (flags.file.empty()) {
    return here;
  }
  SMELT_ASSIGN_OR_RETURN(std::string text, readText(flags.file));
  Result<Tuning> tuning = Tuning::parse(text);
  if (!tuning.isOk())
    return tuning.status().within(flags.file);
  if (here &&
      (tuning->device() != here->device() || tuning->architecture() != here->architecture()))
    return Status(StatusCode::kPlan,
                  joinText(flags.file, ": the times are of ", tuning->device(), " (",
                           tuning->architecture(), "), this GPU is ", here->device(), " (",
                           here->architecture(), "); name another file by --tuning"));
  SMELT_RETURN_IF_ERROR(
      refuseArchitecture(joinText(flags.file, " holds times of ", tuning->device()),
                         tuning->architecture(), architectures));
  return std::optional(std::move(*tuning));
}

namespace {

/// A product at one number of rows that is not known yet.
struct Task {
  const TunableProduct *product;
  const TunableProduct::Point *point;
  std::vector<std::string> tilings;      ///< that may still be measured
  std::vector<TilingTime> failures = {}; ///< of the others, in this run
};

/// Has workers measure tasks until all are done, one worker after the other: the next goes on where one ended.
class Tuner {
public:
  Tuner(const std::string &file, bool tf32, int64_t weightBytes, Tuning &tuning)
      : file(file), tf32(tf32), weightBytes(weightBytes), tuning(tuning) {}

  void add(const TunableProduct &product) {
    ++summary.products;
    for (const TunableProduct::Point &point : product.points) {
      ++summary.points;
      if (isKnown(product, point))
        ++summary.known;
      else
        tasks.push_back({&product, &point, tilingsToMeasure(product, point)});
    }
    total = tasks.size();
  }

  bool isDone() const { return tasks.empty(); }
  /// Compiles what the tasks need into the cache, on all cores; the workers then find it there. A kernel that cannot be
  /// compiled is theirs to tell of.
  Status compile();
  Result<TuneSummary> run();

private:
  bool hasFailed(const TunableProduct &product, const std::string &tiling) const {
    return llvm::any_of(tuning.timesOf(product.key), [&](const TilingTime &time) {
      return time.tiling == tiling && !time.failure.empty();
    });
  }
  bool isKnown(const TunableProduct &product, const TunableProduct::Point &point) const {
    return llvm::all_of(point.tilings, [&](const std::string &tiling) {
      return hasFailed(product, tiling) ||
             llvm::any_of(tuning.timesOf(product.key), [&](const TilingTime &time) {
               return time.tiling == tiling && time.rows == point.rows;
             });
    });
  }
  std::vector<std::string> tilingsToMeasure(const TunableProduct &product,
                                            const TunableProduct::Point &point) const {
    std::vector<std::string> tilings = point.tilings;
    llvm::erase_if(tilings, [&](const std::string &tiling) { return hasFailed(product, tiling); });
    return tilings;
  }

  TuneJobs jobsLeft() const;
  Status runWorker();
  Status blame(const std::optional<TuneReport> &last, const TuneJobs &jobs, const std::string &how);
  Status fail(const std::string &tiling, const std::string &why);
  Status giveUp(const std::string &why);
  Status finishTask();

  const std::string &file;
  bool tf32;
  int64_t weightBytes; ///< TuneJobs::weightBytes
  Tuning &tuning;
  TuneSummary summary;
  std::deque<Task> tasks;
  size_t total = 0, givenUp = 0;
  std::vector<TilingTime> times; ///< of the first task
  ProgressLine line;
};

} // namespace

Status Tuner::compile() {
  auto nvrtc = codegen::Nvrtc::open(nvrtcPath());
  if (!nvrtc)
    return Status(StatusCode::kEnvironment, llvm::toString(nvrtc.takeError()));
  if (cacheDirectory().empty())
    return {};
  std::vector<codegen::KernelText> kernels;
  std::set<const TunableProduct *> products;
  for (const Task &task : tasks)
    if (products.insert(task.product).second)
      llvm::append_range(kernels, task.product->kernels);
  auto progress = [&](size_t done, size_t count) {
    line.show("compiling tilings", done, count);
    return true;
  };
  auto begin = [](const codegen::KernelText &kernel) {
    setActivity("compiling the kernel " + kernel.description + " to be measured");
  };
  auto compiled = compileKernels(
      **nvrtc, codegen::KernelCache(cacheDirectory()), kernels, tuning.architecture(),
      std::max(1u, std::thread::hardware_concurrency()), progress, begin);
  if (!compiled)
    llvm::consumeError(compiled.takeError());
  line.clear();
  return {};
}

Result<TuneSummary> Tuner::run() {
  while (!tasks.empty())
    SMELT_RETURN_IF_ERROR(runWorker());
  return summary;
}

TuneJobs Tuner::jobsLeft() const {
  TuneJobs jobs{tuning.architecture(), tf32, weightBytes, {}};
  for (const Task &task : tasks)
    jobs.jobs.push_back({task.product->module, task.point->sizes, task.tilings});
  return jobs;
}

static bool isOf(const TuneReport &report, const TuneJobs &jobs) {
  return report.job < jobs.jobs.size() && (report.kind == TuneReport::Kind::kEnds ||
                                           report.tiling < jobs.jobs[report.job].tilings.size());
}

/// Until one of its tilings fails, or all are measured.
Status Tuner::runWorker() {
  TuneJobs jobs = jobsLeft();
  times.clear();
  SMELT_ASSIGN_OR_RETURN(TemporaryFile told, TemporaryFile::create("json"));
  SMELT_RETURN_IF_ERROR(writeJobs(jobs, told.path()));
  SMELT_ASSIGN_OR_RETURN(auto worker, WorkerProcess::start({"tune-worker", told.path()}));
  std::optional<TuneReport> last;
  while (!tasks.empty()) {
    setActivity("measuring tilings of " + tasks.front().product->description);
    line.show("measuring tilings", total - tasks.size(), total);
    bool isRunning = last && last->kind == TuneReport::Kind::kRuns;
    double patience = isRunning ? kRunSeconds : kBuildSeconds;
    std::string text;
    WorkerProcess::Heard heard = worker->hear(text, patience);
    if (heard == WorkerProcess::Heard::kNothing)
      return blame(last, jobs,
                   joinText("nothing came back within ", numberText(patience, 0), " s"));
    if (heard == WorkerProcess::Heard::kEnd)
      return blame(last, jobs, joinText("the process that ran it ended with ", worker->end()));
    last = parseReport(text);
    if (!last || !isOf(*last, jobs))
      return Status(StatusCode::kInternal, "no report of the worker process: " + text);
    const std::vector<std::string> &tilings = jobs.jobs[last->job].tilings;
    if (last->kind == TuneReport::Kind::kFailed)
      return fail(tilings[last->tiling], last->failure);
    if (last->kind == TuneReport::Kind::kTook)
      times.push_back({tasks.front().point->rows, tilings[last->tiling], last->microseconds});
    if (last->kind == TuneReport::Kind::kEnds)
      SMELT_RETURN_IF_ERROR(finishTask());
  }
  return {};
}

/// Of a worker that is no more, by what it said last.
Status Tuner::blame(const std::optional<TuneReport> &last, const TuneJobs &jobs,
                    const std::string &how) {
  if (!last || (last->kind != TuneReport::Kind::kBuilds && last->kind != TuneReport::Kind::kRuns))
    return Status(StatusCode::kRunFailed, "tilings cannot be measured: " + how);
  return fail(jobs.jobs[last->job].tilings[last->tiling], how);
}

/// Whatever the number of rows, the product does not take the tiling.
Status Tuner::fail(const std::string &tiling, const std::string &why) {
  const TunableProduct *product = tasks.front().product;
  line.clear();
  note(joinText("warning: ", tiling, " of ", product->description, " at ",
                tasks.front().point->rows, " rows is left out: ", why));
  ++summary.failed;
  tasks.front().failures.push_back({tasks.front().point->rows, tiling, 0, why});
  for (Task &task : tasks)
    if (task.product == product)
      llvm::erase(task.tilings, tiling);
  return tasks.front().tilings.empty() ? giveUp(why) : Status();
}

/// Where every tiling fails it is hardly their fault: nothing is noted, and the model decides. Where that happens again
/// before anything was measured, nothing will be.
Status Tuner::giveUp(const std::string &why) {
  constexpr size_t kMostGivenUp = 2;
  const TunableProduct *product = tasks.front().product;
  std::string what = joinText("no tiling of ", product->description, " can be measured: ", why);
  if (++givenUp >= kMostGivenUp && summary.measured == 0)
    return Status(StatusCode::kRunFailed, what);
  note("warning: " + what);
  std::erase_if(tasks,
                [&](const Task &each) { return each.product == product && each.tilings.empty(); });
  return {};
}

Status Tuner::finishTask() {
  const Task &task = tasks.front();
  summary.measured += times.size();
  llvm::append_range(times, task.failures);
  for (TilingTime &time : times)
    tuning.add(task.product->key, task.product->description, std::move(time));
  times.clear();
  tasks.pop_front();
  return codegen::writeText(tuning.text(), file);
}

Result<TuneSummary> tune(Model &model, bool tf32, const std::string &file, Tuning &tuning) {
  model.announce("listing products to measure");
  codegen::Target target = *codegen::Target::named(tuning.architecture());
  auto products = codegen::tunableProducts(model.module(), target, tf32, kTilings);
  if (!products.isOk())
    return model.diagnostics().asStatus(products.status().code(), products.status().message());
  Tuner tuner(file, tf32, codegen::productWeightBytes(model.module()), tuning);
  for (const TunableProduct &product : *products)
    tuner.add(product);
  if (!tuner.isDone())
    SMELT_RETURN_IF_ERROR(tuner.compile());
  return tuner.run();
}

} // namespace smelt::tools
