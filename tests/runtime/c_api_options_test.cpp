// What engines and contexts take from their application: its CUDA context, its log.
#include "runtime/c_api.h"

#include "tests/runtime/expect_refused.h"
#include "tests/runtime/fake_model.h"

#include <map>
#include <mutex>

namespace smelt::runtime {
namespace {

using test::AddScaleData;
using test::FakeModel;
using test::isOk;
using test::isRefused;

class CApiOptionsTest : public testing::Test {
protected:
  void TearDown() override {
    smelt_context_destroy(context);
    smelt_engine_destroy(engine);
    EXPECT_EQ(model.fake.leaks(), std::vector<std::string>());
  }

  Status create(const smelt_engine_options &options) {
    SMELT_ASSIGN_OR_RETURN(Plan read, readPlan(model.file, "m.plan"));
    return createEngine(read, model.fake.driver(), &options, &engine);
  }

  void run(AddScaleData &data, CUstream stream) {
    ASSERT_EQ(smelt_context_create(engine, &contextOptions, &context, nullptr), SMELT_OK);
    for (auto [name, values] : {std::pair("x", &data.x), std::pair("y", &data.y)}) {
      ASSERT_EQ(smelt_context_set_input_shape(context, name, data.shape.data(), 2, nullptr),
                SMELT_OK);
      smelt_binding binding = test::cHostBinding(*values);
      ASSERT_EQ(smelt_context_bind_input(context, name, &binding, nullptr), SMELT_OK);
    }
    smelt_binding out = test::cHostBinding(data.out);
    ASSERT_EQ(smelt_context_bind_output(context, "out", &out, nullptr), SMELT_OK);
    ASSERT_EQ(smelt_context_run(context, stream, nullptr), SMELT_OK);
  }

  CUcontext current() {
    CUcontext context = nullptr;
    EXPECT_EQ(model.fake.driver()->cuCtxGetCurrent(&context), CUDA_SUCCESS);
    return context;
  }

  FakeModel model;
  smelt_context_options contextOptions = SMELT_CONTEXT_OPTIONS_INIT;
  smelt_engine *engine = nullptr;
  smelt_context *context = nullptr;
};

TEST_F(CApiOptionsTest, RunsInTheApplicationsCudaContext) {
  CUcontext own = model.fake.createContext(), other = model.fake.createContext();
  Driver driver = model.fake.driver();
  ASSERT_EQ(driver->cuCtxPushCurrent(other), CUDA_SUCCESS);
  smelt_engine_options options = SMELT_ENGINE_OPTIONS_INIT;
  options.device = 7; // ignored
  options.cuda_context = own;
  ASSERT_TRUE(isOk(create(options)));
  EXPECT_EQ(current(), other);
  AddScaleData data({3, 77});
  run(data, model.fake.stream());
  EXPECT_EQ(data.out, data.expected);
  EXPECT_EQ(current(), other);
  smelt_context_destroy(std::exchange(context, nullptr));
  smelt_engine_destroy(std::exchange(engine, nullptr));
  EXPECT_EQ(current(), other);
  EXPECT_EQ(model.fake.usedContexts(), std::vector{own});
  EXPECT_EQ(model.fake.countOf("cuDevicePrimaryCtxRetain"), 0u);
  EXPECT_EQ(model.fake.countOf("cuDevicePrimaryCtxRelease"), 0u);
  CUcontext popped = nullptr;
  ASSERT_EQ(driver->cuCtxPopCurrent(&popped), CUDA_SUCCESS);
}

TEST_F(CApiOptionsTest, SharesTheWeightsOfTheEngineThatIsNamed) {
  smelt_engine_options options = SMELT_ENGINE_OPTIONS_INIT;
  ASSERT_TRUE(isOk(create(options)));
  size_t uploads = model.fake.countOf("cuMemcpyHtoDAsync");
  EXPECT_GT(uploads, 0u);
  smelt_engine *first = std::exchange(engine, nullptr);
  options.share_weights_with = first;
  ASSERT_TRUE(isOk(create(options)));
  smelt_engine_destroy(first); // the weights stay
  EXPECT_EQ(model.fake.countOf("cuMemcpyHtoDAsync"), uploads);
  AddScaleData data({3, 77});
  run(data, model.fake.stream());
  EXPECT_EQ(data.out, data.expected);
}

/// What an application hears while its plan is loaded, in order.
struct Told {
  static int write(void *user, const smelt_load_progress *progress) {
    auto *told = static_cast<Told *>(user);
    told->steps.push_back({progress->phase, progress->done, progress->total});
    return progress->phase == told->stopsAt;
  }
  struct Step {
    std::string phase;
    size_t done, total;
  };
  std::vector<Step> steps;
  std::string stopsAt;
};

TEST_F(CApiOptionsTest, TellsHowFarLoadingIs) {
  Told told;
  smelt_engine_options options = SMELT_ENGINE_OPTIONS_INIT;
  options.on_progress = Told::write;
  options.progress_user = &told;
  Result<LoadProgressHandler> handler = api::readProgress(&options);
  ASSERT_TRUE(isOk(handler));
  ASSERT_TRUE(isOk(readPlan(model.file, "m.plan", *handler)));
  EXPECT_EQ(told.steps.front().phase, "read");
  EXPECT_EQ(told.steps.back().total, model.file.size());
  told.steps.clear();
  ASSERT_TRUE(isOk(create(options)));
  ASSERT_GE(told.steps.size(), 3u);
  EXPECT_EQ(told.steps.front().phase, "kernels");
  EXPECT_EQ(told.steps.back().phase, "weights");
  std::map<std::string, size_t> done;
  for (const Told::Step &step : told.steps) {
    EXPECT_LE(step.done, step.total);
    EXPECT_GE(step.done, done[step.phase]);
    done[step.phase] = step.done;
  }
  EXPECT_EQ(done["kernels"], told.steps.front().total);
  EXPECT_EQ(done["weights"], told.steps.back().total);
  EXPECT_GT(done["weights"], 0u);
}

TEST_F(CApiOptionsTest, StopsWhereItIsTold) {
  for (const char *phase : {"kernels", "weights"}) {
    Told told{{}, phase};
    smelt_engine_options options = SMELT_ENGINE_OPTIONS_INIT;
    options.on_progress = Told::write;
    options.progress_user = &told;
    EXPECT_TRUE(isRefused(create(options), StatusCode::kResources, "stopped"));
    EXPECT_EQ(told.steps.back().phase, phase);
    EXPECT_EQ(model.fake.leaks(), std::vector<std::string>());
  }
  auto stop = [](const LoadProgress &) { return false; };
  EXPECT_TRUE(
      isRefused(readPlan(model.file, "m.plan", stop).status(), StatusCode::kResources, "stopped"));
}

/// The context that is current already is neither pushed nor popped.
TEST_F(CApiOptionsTest, StaysInTheContextThatIsCurrent) {
  CUcontext own = model.fake.createContext();
  Driver driver = model.fake.driver();
  ASSERT_EQ(driver->cuCtxPushCurrent(own), CUDA_SUCCESS);
  smelt_engine_options options = SMELT_ENGINE_OPTIONS_INIT;
  options.cuda_context = own;
  ASSERT_TRUE(isOk(create(options)));
  AddScaleData data({3, 77});
  run(data, model.fake.stream());
  EXPECT_EQ(model.fake.countOf("cuCtxPushCurrent"), 1u);
  EXPECT_EQ(model.fake.countOf("cuCtxPopCurrent"), 0u);
  CUcontext popped = nullptr;
  ASSERT_EQ(driver->cuCtxPopCurrent(&popped), CUDA_SUCCESS);
}

TEST_F(CApiOptionsTest, RefusesWhatIsNoCudaContext) {
  int none = 0;
  smelt_engine_options options = SMELT_ENGINE_OPTIONS_INIT;
  options.cuda_context = &none;
  EXPECT_TRUE(isRefused(create(options), StatusCode::kUsage, "cuda_context is no context"));
}

/// What was logged, and by which severity.
struct Log {
  static void write(void *user, smelt_severity severity, const char *message) {
    auto *log = static_cast<Log *>(user);
    std::lock_guard lock(log->mutex);
    log->severities.push_back(severity);
    log->text += std::string(message) + "\n";
  }

  smelt_logger logger(smelt_severity least) {
    smelt_logger logger = SMELT_LOGGER_INIT;
    logger.user = this;
    logger.write = &Log::write;
    logger.least = least;
    return logger;
  }
  bool has(const std::string &part) const { return text.find(part) != std::string::npos; }

  std::mutex mutex;
  std::vector<smelt_severity> severities;
  std::string text;
};

TEST_F(CApiOptionsTest, LogsWhatAnEngineAndItsContextsDo) {
  Log log;
  smelt_logger logger = log.logger(SMELT_LOG_VERBOSE);
  smelt_engine_options options = SMELT_ENGINE_OPTIONS_INIT;
  options.logger = &logger;
  ASSERT_TRUE(isOk(create(options)));
  EXPECT_TRUE(log.has("loaded 'add_scale' onto Fake GPU: the program for sm_90a, 2 kernels"))
      << log.text;
  AddScaleData data({3, 77});
  run(data, model.fake.stream());
  EXPECT_TRUE(log.has("made the graph of a new shape: 2 launches")) << log.text;
  EXPECT_TRUE(log.has("bytes of workspace")) << log.text;
  size_t known = log.severities.size();
  ASSERT_EQ(smelt_context_run(context, model.fake.stream(), nullptr), SMELT_OK);
  EXPECT_EQ(log.severities.size(), known) << log.text; // a shape that is known has nothing to tell
  EXPECT_REFUSED(SMELT_USAGE, "the model has no input 'none'", smelt_context_set_input_shape,
                 context, "none", data.shape.data(), 2);
  EXPECT_TRUE(log.has("the model has no input 'none'"));
  EXPECT_EQ(log.severities.back(), smelt_severity(SMELT_LOG_ERROR));
}

TEST_F(CApiOptionsTest, WritesNothingThatIsMilderThanAskedFor) {
  Log log;
  smelt_logger logger = log.logger(SMELT_LOG_WARNING);
  smelt_engine_options options = SMELT_ENGINE_OPTIONS_INIT;
  options.logger = &logger;
  ASSERT_TRUE(isOk(create(options)));
  AddScaleData data({3, 77});
  run(data, model.fake.stream());
  EXPECT_EQ(log.text, "");
}

TEST_F(CApiOptionsTest, LogsAnEngineThatFails) {
  Log log;
  smelt_logger logger = log.logger(SMELT_LOG_INFO);
  smelt_engine_options options = SMELT_ENGINE_OPTIONS_INIT;
  options.logger = &logger;
  model.fake.failCall("cuMemAlloc", 0, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_TRUE(isRefused(create(options), StatusCode::kResources, "out of device memory"));
  EXPECT_EQ(log.severities, std::vector<smelt_severity>{SMELT_LOG_ERROR});
  EXPECT_TRUE(log.has("out of device memory: the model's weights"));
}

TEST_F(CApiOptionsTest, WarnsThatTheDriverTranslates) {
  model.plan.usePtx(1, test::ptxOfAddAndScale("sm_80"));
  model.file = test::planBytes(model.plan.contents);
  FakeModel later({.computeCapability = 120});
  Log log;
  smelt_logger logger = log.logger(SMELT_LOG_WARNING);
  smelt_engine_options options = SMELT_ENGINE_OPTIONS_INIT;
  options.logger = &logger;
  Result<Plan> read = readPlan(model.file, "m.plan");
  ASSERT_TRUE(isOk(read));
  smelt_engine *translated = nullptr;
  ASSERT_TRUE(isOk(createEngine(*read, later.fake.driver(), &options, &translated)));
  smelt_engine_destroy(translated);
  EXPECT_EQ(log.severities, std::vector<smelt_severity>{SMELT_LOG_WARNING});
  EXPECT_TRUE(log.has("compile the model with --arch sm_120")) << log.text;
}

TEST_F(CApiOptionsTest, AContextMayHaveALogOfItsOwn) {
  Log engines, own;
  smelt_logger logger = engines.logger(SMELT_LOG_VERBOSE);
  smelt_engine_options options = SMELT_ENGINE_OPTIONS_INIT;
  options.logger = &logger;
  ASSERT_TRUE(isOk(create(options)));
  size_t before = engines.severities.size();
  smelt_logger ownLogger = own.logger(SMELT_LOG_VERBOSE);
  contextOptions.logger = &ownLogger;
  AddScaleData data({3, 77});
  run(data, model.fake.stream());
  EXPECT_EQ(engines.severities.size(), before);
  EXPECT_TRUE(own.has("made the graph of a new shape"));
}

TEST_F(CApiOptionsTest, LetsNoExceptionOfALogThrough) {
  smelt_logger logger = SMELT_LOGGER_INIT;
  logger.write = [](void *, smelt_severity, const char *) { throw 7; };
  smelt_engine_options options = SMELT_ENGINE_OPTIONS_INIT;
  options.logger = &logger;
  EXPECT_TRUE(isOk(create(options)));
}

TEST_F(CApiOptionsTest, RefusesLogsThatMakeNoSense) {
  smelt_logger logger = SMELT_LOGGER_INIT;
  smelt_engine_options options = SMELT_ENGINE_OPTIONS_INIT;
  options.logger = &logger;
  EXPECT_TRUE(isRefused(create(options), StatusCode::kUsage, "a logger needs write"));
  logger = Log().logger(9);
  EXPECT_TRUE(isRefused(create(options), StatusCode::kUsage, "9 is not a severity"));
}

} // namespace
} // namespace smelt::runtime
