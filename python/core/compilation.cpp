#include "python/core/compilation.h"

#include <chrono>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <smelt_compiler.hpp>

namespace nb = nanobind;
using namespace nb::literals;

namespace smelt::python {

namespace {

/// How often a callback that is none looks for an interrupt, which waits for Python's lock.
constexpr std::chrono::milliseconds kBetweenLooks(20);

/// Called without Python's lock, from any thread. An interrupt of the user's stops as an exception of
/// the callback's does.
bool report(const nb::object &callback, const CompileProgress &progress) {
  nb::gil_scoped_acquire locked;
  if (PyErr_CheckSignals() != 0)
    throw nb::python_error();
  if (callback.is_none())
    return true;
  nb::object answer = callback(progress.phase, progress.done, progress.total);
  return !answer.is(nb::handle(Py_False));
}

void warn(const nb::object &callback, const CompileDiagnostic &diagnostic) {
  nb::gil_scoped_acquire locked;
  if (!diagnostic.isError) // what is an error stands in the exception
    callback(diagnostic.place, diagnostic.message);
}

Compilation *makeCompilation(const std::string &model, std::vector<std::string> architectures,
                             const std::string &cacheDirectory, const std::string &nvrtcPath,
                             std::optional<unsigned long> randomWeights, int precision, bool refit,
                             nb::object onProgress, nb::object onWarning) {
  CompileOptions options;
  options.architectures = std::move(architectures);
  options.cacheDirectory = cacheDirectory;
  options.nvrtcPath = nvrtcPath;
  options.randomWeights = randomWeights;
  options.precision = static_cast<smelt_precision>(precision);
  options.refit = refit;
  using Clock = std::chrono::steady_clock;
  options.onProgress = [onProgress,
                        last = Clock::time_point()](const CompileProgress &step) mutable {
    if (Clock::time_point now = Clock::now(); onProgress.is_none() && now - last < kBetweenLooks)
      return true;
    last = Clock::now();
    return report(onProgress, step);
  };
  options.onDiagnostic = [onWarning](const CompileDiagnostic &found) { warn(onWarning, found); };
  return new Compilation(model, std::move(options));
}

nb::bytes toBytes(Compilation &compilation) {
  std::optional<CompiledPlan> plan;
  {
    nb::gil_scoped_release released;
    plan = compilation.toMemory();
  }
  return nb::bytes(static_cast<const char *>(plan->data()), plan->bytes());
}

} // namespace

void bindCompilation(nb::module_ &module) {
  using Unlocked = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<Compilation>(module, "Compilation", "An ONNX file and what to compile it for.")
      .def(nb::new_(&makeCompilation), "model"_a, "architectures"_a, "cache_directory"_a,
           "nvrtc_path"_a, "random_weights"_a.none(), "precision"_a, "refit"_a,
           "on_progress"_a.none(), "on_warning"_a)
      .def("set_shape", &Compilation::setShape, "input"_a, "extents"_a)
      .def("set_limits", &Compilation::setLimits, "input"_a, "smallest"_a, "largest"_a)
      .def("to_bytes", &toBytes)
      .def("explain", &Compilation::explain, Unlocked());
}

} // namespace smelt::python
