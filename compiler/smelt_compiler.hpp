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
#include <memory>
#include <optional>

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
      : callbacks(std::make_shared<Callbacks>()) {
    callbacks->options = std::move(options);
    const CompileOptions &given = callbacks->options;
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
    raw.user = callbacks.get();
    raw.on_diagnostic = &Callbacks::diagnose;
    raw.on_progress = &Callbacks::progress;
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

private:
  friend class Interpreter;

  struct Callbacks {
    CompileOptions options;
    std::exception_ptr thrown;

    /// Exceptions do not cross C: they wait for the end of the call, which they bring about.
    template <typename Body> int guard(Body body) {
      try {
        return thrown || !body();
      } catch (...) {
        thrown = std::current_exception();
        return 1;
      }
    }
    static void diagnose(void *user, const smelt_compile_diagnostic *diagnostic) {
      auto *self = static_cast<Callbacks *>(user);
      self->guard([&] {
        if (self->options.onDiagnostic)
          self->options.onDiagnostic(
              {diagnostic->is_error != 0, diagnostic->place, diagnostic->message});
        return true;
      });
    }
    static int progress(void *user, const smelt_compile_progress *progress) {
      auto *self = static_cast<Callbacks *>(user);
      return self->guard([&] {
        return !self->options.onProgress ||
               self->options.onProgress({progress->phase, progress->done, progress->total});
      });
    }
  };
  struct Destroy {
    void operator()(smelt_compilation *compilation) const { smelt_compile_destroy(compilation); }
  };

  /// A call that may call back.
  template <typename Call> static void checked(Callbacks &callbacks, Call call) {
    check([&](smelt_error *error) {
      smelt_code code = call(error);
      if (callbacks.thrown)
        std::rethrow_exception(std::exchange(callbacks.thrown, nullptr));
      return code;
    });
  }
  template <typename Call> void run(Call call) { checked(*callbacks, call); }

  std::shared_ptr<Callbacks> callbacks;
  std::unique_ptr<smelt_compilation, Destroy> handle;
};

/// A tensor that a run of an interpreter gave; lives until its next run.
struct HostTensor {
  smelt_element_type elementType;
  Shape shape;
  const void *data;
  std::size_t bytes;
};

/// A model on the CPU, where there is no GPU; see smelt_interpreter.
class Interpreter {
public:
  explicit Interpreter(Compilation &compilation) : callbacks(compilation.callbacks) {
    smelt_interpreter *created = nullptr;
    compilation.run([&](smelt_error *error) {
      return smelt_interpreter_create(compilation.handle.get(), &created, error);
    });
    handle.reset(created);
  }

  std::string deviceName() const { return smelt_interpreter_device_name(handle.get()); }
  std::vector<TensorInfo> inputs() const {
    return describe(handle.get(), smelt_interpreter_input_count(handle.get()),
                    smelt_interpreter_input);
  }
  std::vector<TensorInfo> outputs() const {
    return describe(handle.get(), smelt_interpreter_output_count(handle.get()),
                    smelt_interpreter_output);
  }
  /// The memory must last until the run.
  void setInput(const std::string &name, const HostTensor &tensor) {
    smelt_host_tensor given = {sizeof(smelt_host_tensor), tensor.elementType, tensor.shape.size(),
                               tensor.shape.data(),       tensor.data,        tensor.bytes};
    check([&](smelt_error *error) {
      return smelt_interpreter_set_input(handle.get(), name.c_str(), &given, error);
    });
  }
  /// Fails with SMELT_RESOURCES where CompileOptions::onProgress stops it, at the phase "run".
  void run() {
    Compilation::checked(
        *callbacks, [&](smelt_error *error) { return smelt_interpreter_run(handle.get(), error); });
  }
  HostTensor output(const std::string &name) const {
    smelt_host_tensor tensor = SMELT_HOST_TENSOR_INIT;
    check([&](smelt_error *error) {
      return smelt_interpreter_get_output(handle.get(), name.c_str(), &tensor, error);
    });
    return {tensor.element_type, Shape(tensor.extents, tensor.extents + tensor.rank), tensor.data,
            tensor.bytes};
  }

private:
  struct Destroy {
    void operator()(smelt_interpreter *interpreter) const {
      smelt_interpreter_destroy(interpreter);
    }
  };

  std::shared_ptr<Compilation::Callbacks> callbacks; ///< which the interpreter may call
  std::unique_ptr<smelt_interpreter, Destroy> handle;
};

} // namespace smelt
