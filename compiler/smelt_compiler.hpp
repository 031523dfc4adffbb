// Smelt's compiler for C++17: smelt_compiler.h with objects that clean up after themselves, failures
// as exceptions, and callbacks that may throw. Header only.
//
//   smelt::CompileOptions options;
//   options.onProgress = [](const smelt::CompileProgress &) { return true; };
//   smelt::Compilation compilation("model.onnx", options);
//   compilation.setShape("ids", {1, -1});
//   smelt::CompiledPlan plan = compilation.toMemory();
#pragma once

#include <smelt.hpp>
#include <smelt_compiler.h>

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace smelt {

struct CompileDiagnostic {
  bool isError;
  std::string place;
  std::string message;
};

struct CompileProgress {
  std::string phase;
  std::size_t done;
  std::size_t total;
};

/// See smelt_compile_options. Callbacks run on any thread, one at a time.
struct CompileOptions {
  std::vector<std::string> architectures = {"sm_90a"};
  std::string cacheDirectory;
  std::string nvrtcPath;
  std::optional<unsigned long> randomWeights;
  smelt_precision precision = SMELT_PRECISION_FP32;
  std::function<void(const CompileDiagnostic &)> onDiagnostic;
  std::function<bool(const CompileProgress &)> onProgress; ///< false stops
  bool refit = false; ///< weights stay as they are in the model, for Engine::updateWeight
};

/// A plan in memory.
class CompiledPlan {
public:
  explicit CompiledPlan(smelt_compiled_plan *plan) : handle(plan) {}

  const void *data() const { return smelt_compiled_plan_data(handle.get()); }
  std::size_t bytes() const { return smelt_compiled_plan_bytes(handle.get()); }

private:
  struct Destroy {
    void operator()(smelt_compiled_plan *plan) const { smelt_compiled_plan_destroy(plan); }
  };
  std::unique_ptr<smelt_compiled_plan, Destroy> handle;
};

/// A model and what to compile it for.
class Compilation {
public:
  explicit Compilation(const std::string &model, CompileOptions options = {})
      : handlers(std::make_shared<Handlers>()) {
    handlers->options = std::move(options);
    const CompileOptions &given = handlers->options;
    std::vector<const char *> architectures;
    for (const std::string &architecture : given.architectures)
      architectures.push_back(architecture.c_str());
    architectures.push_back(nullptr);
    smelt_compile_options raw = SMELT_COMPILE_OPTIONS_INIT;
    raw.architectures = architectures.data();
    raw.cache_directory = given.cacheDirectory.c_str();
    raw.nvrtc_path = given.nvrtcPath.c_str();
    raw.random_weights = given.randomWeights.has_value();
    raw.seed = given.randomWeights.value_or(0);
    raw.precision = given.precision;
    raw.refit = given.refit;
    raw.user = handlers.get();
    raw.on_diagnostic = &Handlers::diagnose;
    raw.on_progress = &Handlers::progress;
    smelt_compilation *created = nullptr;
    check([&](smelt_error *error) {
      return smelt_compile_create(model.c_str(), &raw, &created, error);
    });
    handle.reset(created);
  }

  void setShape(const std::string &input, const Shape &extents) {
    check([&](smelt_error *error) {
      return smelt_compile_set_shape(handle.get(), input.c_str(), extents.data(), extents.size(),
                                     error);
    });
  }
  /// Both have the rank of the input; -1 sets no limit.
  void setLimits(const std::string &input, const Shape &smallest, const Shape &largest) {
    check([&](smelt_error *error) {
      if (smallest.size() != largest.size())
        throw std::invalid_argument("limits of different ranks");
      return smelt_compile_set_limits(handle.get(), input.c_str(), smallest.data(), largest.data(),
                                      smallest.size(), error);
    });
  }
  void toFile(const std::string &path) {
    run([&](smelt_error *error) {
      return smelt_compile_to_file(handle.get(), path.c_str(), error);
    });
  }
  CompiledPlan toMemory() {
    smelt_compiled_plan *plan = nullptr;
    run([&](smelt_error *error) { return smelt_compile_to_memory(handle.get(), &plan, error); });
    return CompiledPlan(plan);
  }
  /// What becomes of every ONNX node, as JSON (smelt.explain/1).
  std::string explain() {
    const char *json = nullptr;
    run([&](smelt_error *error) { return smelt_compile_explain(handle.get(), &json, error); });
    return json;
  }

  /// The model on the CPU, where there is no GPU: the same API, slower by far. See
  /// smelt_compile_to_cpu_engine. What onProgress throws during a run, the phase "run", the run throws.
  Engine toCpuEngine(const smelt_engine_options &options = SMELT_ENGINE_OPTIONS_INIT) {
    smelt_engine *made = nullptr;
    try {
      run([&](smelt_error *error) {
        return smelt_compile_to_cpu_engine(handle.get(), &options, &made, error);
      });
    } catch (...) { // a callback's exception does not always bring the call to an end
      smelt_engine_destroy(made);
      throw;
    }
    return Engine(made, handlers);
  }

private:
  /// Exceptions do not cross C: they wait for the end of the call, which they bring about.
  struct Handlers : Callbacks {
    CompileOptions options;
    std::exception_ptr thrown; ///< during a call of the compilation's
    std::mutex mutex;
    std::map<std::thread::id, std::exception_ptr> thrownByRuns; ///< which call back on their thread

    template <typename Body> static int guard(std::exception_ptr &thrown, Body body) {
      try {
        return thrown || !body();
      } catch (...) {
        thrown = std::current_exception();
        return 1;
      }
    }
    std::exception_ptr &placeOf(const std::string &phase) {
      if (phase != "run")
        return thrown;
      std::lock_guard<std::mutex> lock(mutex);
      return thrownByRuns[std::this_thread::get_id()];
    }
    void rethrow() override {
      std::exception_ptr taken;
      {
        std::lock_guard<std::mutex> lock(mutex);
        auto found = thrownByRuns.find(std::this_thread::get_id());
        if (found == thrownByRuns.end())
          return;
        taken = found->second;
        thrownByRuns.erase(found);
      }
      if (taken)
        std::rethrow_exception(taken);
    }
    static void diagnose(void *user, const smelt_compile_diagnostic *diagnostic) {
      auto *self = static_cast<Handlers *>(user);
      guard(self->thrown, [&] {
        if (self->options.onDiagnostic)
          self->options.onDiagnostic(
              {diagnostic->is_error != 0, diagnostic->place, diagnostic->message});
        return true;
      });
    }
    static int progress(void *user, const smelt_compile_progress *progress) {
      auto *self = static_cast<Handlers *>(user);
      return guard(self->placeOf(progress->phase), [&] {
        return !self->options.onProgress ||
               self->options.onProgress({progress->phase, progress->done, progress->total});
      });
    }
  };
  struct Destroy {
    void operator()(smelt_compilation *compilation) const { smelt_compile_destroy(compilation); }
  };

  /// A call that may call back.
  template <typename Call> void run(Call call) {
    check([&](smelt_error *error) {
      smelt_code code = call(error);
      if (handlers->thrown)
        std::rethrow_exception(std::exchange(handlers->thrown, nullptr));
      return code;
    });
  }

  std::shared_ptr<Handlers> handlers;
  std::unique_ptr<smelt_compilation, Destroy> handle;
};

} // namespace smelt
