// smelt tune-worker: measures what `smelt compile --tune` started it for, on the first GPU. It is no command for
// people: a kernel that breaks the device or never ends takes this process with it and no other.
#include "codegen/compile.h"
#include "compiler/diagnostics.h"
#include "ir/dialect.h"
#include "ir/parse_text.h"
#include "runtime/run_chain.h"
#include "runtime/shape_program.h"
#include "runtime/text.h"
#include "tools/smelt/commands.h"
#include "tools/smelt/environment.h"
#include "tools/smelt/gpu_bench.h"
#include "tools/smelt/tune_jobs.h"
#include "tools/smelt/worker_process.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <chrono>
#include <cmath>

using namespace mlir;

namespace smelt::tools {

namespace {

constexpr size_t kWarmUpRounds = 2, kLeastRounds = 7, kMostRounds = 200;
constexpr double kSecondsOfRounds = 0.2;
/// Runs that follow each other as in a model, where the end of one is the beginning of the next. (By themselves, small
/// products take 2 to 3 us longer, and others win: BERT at 1x128 became 6 % slower.)
constexpr size_t kRunsOfChain = 8;
/// What a product reads was just written by the kernel before it, but its weights are those of one layer: between two runs
/// with the same there should be as many others as in the model, or as many as put them out of the cache, that many times
/// what it holds.
constexpr double kTimesCache = 1.25;
constexpr double kMostCopies = 40;

void say(const TuneReport &report) {
  llvm::outs() << lineOf(report);
  llvm::outs().flush();
}

/// The fusion of a product, to be compiled with one tiling after the other.
class LoneProduct {
public:
  LoneProduct(const TuneJobs &jobs, const TuneJob &job)
      : jobs(jobs), job(job), context(MLIRContext::Threading::DISABLED),
        collector(context, "a product", nullptr) {
    context.loadDialect<SmeltDialect, func::FuncDialect>();
    weights.drawMissing(0);
    module = parseText(job.module, &context);
  }

  Result<runtime::Plan> build(const std::string &tiling) {
    if (!module)
      return Status(StatusCode::kInternal, "the product cannot be read");
    codegen::CompileOptions options;
    options.architectures = {jobs.architecture};
    options.cacheDirectory = cacheDirectory();
    options.nvrtcPath = nvrtcPath();
    options.tf32 = jobs.tf32;
    options.tiling = tiling;
    codegen::ByteBuffer buffer;
    Status status = codegen::compileToPlan(*module, weights, options, buffer);
    if (!status.isOk())
      return collector.asStatus(status.code(), status.message());
    bytes.push_back(buffer.take());
    return runtime::readPlan(bytes.back(), tiling);
  }

  std::vector<int64_t> shapeOf(const plan::MetadataT &metadata, const plan::TensorT &tensor) const {
    std::vector<int64_t> values, shape;
    for (const std::string &symbol : metadata.symbols) {
      auto known = job.sizes.find(symbol);
      values.push_back(known == job.sizes.end() ? 1 : known->second);
    }
    for (uint32_t dim : tensor.dims)
      shape.push_back(runtime::evaluateDim(*metadata.dims[dim], values).value_or(0));
    return shape;
  }

private:
  const TuneJobs &jobs;
  const TuneJob &job;
  MLIRContext context;
  compiler::DiagnosticCollector collector;
  OwningOpRef<ModuleOp> module;
  WeightStore weights;
  std::vector<std::vector<std::byte>> bytes; ///< of plans, which point to them
};

/// Random values that repeat: the images of a batch, drawn one by one, would take longer than all that is measured of them.
static Result<Array> drawRepeatedly(const Port &port, const std::vector<int64_t> &shape) {
  constexpr int64_t kPeriod = 65537; // odd, that rows differ
  SMELT_ASSIGN_OR_RETURN(Array array, Array::zeros(port.type, shape));
  auto count = static_cast<int64_t>(array.elementCount());
  SMELT_ASSIGN_OR_RETURN(Array drawn, drawInput(port, {std::min(count, kPeriod)}, /*seed=*/0));
  for (size_t at = 0; at < array.bytes.size(); at += drawn.bytes.size())
    std::copy_n(drawn.bytes.begin(), std::min(drawn.bytes.size(), array.bytes.size() - at),
                array.bytes.begin() + static_cast<std::ptrdiff_t>(at));
  return array;
}

/// One tiling, ready to run with several copies of its weights.
class Contestant {
public:
  /// The inputs must outlive it.
  Contestant(size_t number, runtime::Plan plan, const std::vector<Array> &inputs)
      : number(number), plan(std::move(plan)), inputs(inputs) {}

  Status addCopy() {
    SMELT_ASSIGN_OR_RETURN(std::unique_ptr<CudaSession> session, CudaSession::open(plan, 0));
    SMELT_ASSIGN_OR_RETURN(std::unique_ptr<GpuBench> bench,
                           copies.empty()
                               ? GpuBench::prepare(*session, inputs, {})
                               : GpuBench::prepareBeside(*copies[0].bench, *session, inputs));
    copies.push_back({std::move(session), std::move(bench)});
    return {};
  }

  /// Runs take the copies that there are in turn.
  Status link() {
    std::vector<runtime::Context *> runs;
    while (runs.size() < std::max(kRunsOfChain, copies.size()))
      runs.push_back(&copies[runs.size() % copies.size()].bench->context());
    SMELT_ASSIGN_OR_RETURN(chain, runtime::RunChain::create(runs));
    return {};
  }

  Status run(bool counts) {
    SMELT_ASSIGN_OR_RETURN(double time, chain->time(copies.front().bench->stream()));
    if (counts)
      times.push_back(time);
    return {};
  }

  double microseconds() const { return runtime::median(times); }

  const size_t number; ///< of the job's tilings
  const CudaSession &session() const { return *copies.front().session; }

private:
  struct Copy {
    std::unique_ptr<CudaSession> session;
    std::unique_ptr<GpuBench> bench;
  };

  runtime::Plan plan;
  const std::vector<Array> &inputs;
  std::vector<Copy> copies;
  std::unique_ptr<runtime::RunChain> chain; ///< behind what it runs
  std::vector<double> times;
};

/// Compares the tilings of one job.
class Contest {
public:
  Contest(const TuneJobs &jobs, size_t number)
      : number(number), weightBytes(jobs.weightBytes), job(jobs.jobs[number]), product(jobs, job) {}

  /// Fails with the first tiling that does, which was said before: the device can no longer be trusted.
  Status run() {
    for (size_t tiling = 0; tiling < job.tilings.size(); ++tiling)
      SMELT_RETURN_IF_ERROR(build(tiling));
    SMELT_RETURN_IF_ERROR(addCopies());
    SMELT_RETURN_IF_ERROR(runRounds());
    for (const auto &contestant : contestants)
      say({TuneReport::Kind::kTook, number, contestant->number, contestant->microseconds()});
    say({TuneReport::Kind::kEnds, number});
    return {};
  }

private:
  Status build(size_t tiling) {
    SMELT_RETURN_IF_ERROR(
        watched(TuneReport::Kind::kBuilds, tiling, [&] { return addContestant(tiling); }));
    return watched(TuneReport::Kind::kRuns, tiling,
                   [&] { return contestants.back()->run(/*counts=*/false); });
  }

  Status addContestant(size_t tiling) {
    SMELT_ASSIGN_OR_RETURN(runtime::Plan plan, product.build(job.tilings[tiling]));
    if (contestants.empty())
      SMELT_RETURN_IF_ERROR(drawInputs(plan.metadata()));
    contestants.push_back(std::make_unique<Contestant>(tiling, std::move(plan), inputs));
    SMELT_RETURN_IF_ERROR(contestants.back()->addCopy());
    return contestants.back()->link();
  }

  /// Which are those of all tilings.
  Status drawInputs(const plan::MetadataT &metadata) {
    Signature signature = signatureOf(metadata);
    for (const auto &weight : metadata.weights)
      ownWeightBytes += weight->data.size();
    for (size_t i = 0; i < signature.inputs.size(); ++i) {
      std::vector<int64_t> shape = product.shapeOf(metadata, *metadata.inputs[i]);
      SMELT_ASSIGN_OR_RETURN(Array drawn, drawRepeatedly(signature.inputs[i], shape));
      inputs.push_back(std::move(drawn));
    }
    return {};
  }

  /// Says what begins, and where it fails.
  Status watched(TuneReport::Kind kind, size_t tiling, llvm::function_ref<Status()> work) {
    say({kind, number, tiling});
    Status status = work();
    if (!status.isOk())
      say({TuneReport::Kind::kFailed, number, tiling, 0, status.message()});
    return status;
  }

  Status addCopies() {
    if (contestants.empty())
      return {};
    const runtime::Device &device = *contestants.front()->session().sharedEngine()->device();
    SMELT_ASSIGN_OR_RETURN(int cache, device.attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
    double apart = std::min(kTimesCache * cache, static_cast<double>(weightBytes));
    double wanted =
        ownWeightBytes == 0 ? 1 : std::ceil(apart / static_cast<double>(ownWeightBytes));
    for (const auto &contestant : contestants)
      for (double copy = 1; copy < std::min(wanted, kMostCopies); ++copy)
        SMELT_RETURN_IF_ERROR(watched(TuneReport::Kind::kBuilds, contestant->number,
                                      [&] { return contestant->addCopy(); }));
    for (const auto &contestant : contestants)
      SMELT_RETURN_IF_ERROR(contestant->link());
    return {};
  }

  /// All take turns, so that what disturbs the GPU for a while disturbs each.
  Status runRounds() {
    auto start = std::chrono::steady_clock::now();
    auto seconds = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    for (size_t round = 0; round < kMostRounds; ++round) {
      if (round >= kWarmUpRounds + kLeastRounds && seconds() > kSecondsOfRounds)
        break;
      for (const auto &contestant : contestants)
        SMELT_RETURN_IF_ERROR(watched(TuneReport::Kind::kRuns, contestant->number,
                                      [&] { return contestant->run(round >= kWarmUpRounds); }));
    }
    return {};
  }

  size_t number;
  int64_t weightBytes; ///< of the whole model
  const TuneJob &job;
  LoneProduct product;
  std::vector<Array> inputs;
  uint64_t ownWeightBytes = 0; ///< of the product
  std::vector<std::unique_ptr<Contestant>> contestants;
};

} // namespace

static Status work(const std::string &path) {
  endWithParent();
  SMELT_ASSIGN_OR_RETURN(TuneJobs jobs, readJobs(path));
  for (size_t job = 0; job < jobs.jobs.size(); ++job)
    SMELT_RETURN_IF_ERROR(Contest(jobs, job).run());
  return {};
}

void addTuneWorker(CommandLine &line) {
  auto path = std::make_shared<std::string>();
  Command command = line.addHidden("tune-worker", "Measures tilings for smelt compile --tune",
                                   [path] { return work(*path); });
  command.argument("jobs", *path, "What to measure");
}

} // namespace smelt::tools
