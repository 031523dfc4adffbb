#include "python/core/interpreter.h"

#include "python/core/errors.h"
#include "python/core/request.h"
#include "python/core/turn.h"

#include <cstring>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <smelt_compiler.hpp>

namespace nb = nanobind;
using namespace nb::literals;

namespace smelt::python {

namespace {

/// Runs of one model on the CPU; threads take turns.
class CpuSession {
public:
  explicit CpuSession(Interpreter &&made)
      : interpreter(std::move(made)), signature(interpreter.inputs(), interpreter.outputs()) {}

  nb::list run(nb::handle names, nb::handle feeds, nb::handle stream, nb::handle targets);

  Interpreter interpreter;
  TensorReader reader;
  Signature signature;

private:
  void readOutput(std::size_t place, Request &request);

  std::mutex mutex;
};

void checkLocation(const std::string &name, const TensorView &view) {
  if (view.isOnDevice())
    refuse("'" + name + "' lies on cuda:" + std::to_string(view.device) +
           ", and the session runs on the CPU");
}

/// Copies into the caller's memory, of the output's very type and shape, or into a new array.
void CpuSession::readOutput(std::size_t place, Request &request) {
  const std::string &name = signature.outputs()[place].name;
  HostTensor output = interpreter.output(name);
  std::optional<TensorView> &target = request.targets[place];
  if (!target) {
    request.outputs[place] = reader.arrays().empty(output.elementType, output.shape);
    target = reader.read(request.outputs[place], 0, "output", nb::str(name.c_str()), true);
  }
  if (target->elementType != output.elementType || target->shape != output.shape)
    refuse("the memory for output '" + name + "' has another type or shape than the output");
  std::memcpy(reinterpret_cast<void *>(target->address), output.data, output.bytes);
}

nb::list CpuSession::run(nb::handle names, nb::handle feeds, nb::handle stream,
                         nb::handle targets) {
  std::uintptr_t handle = streamOf(stream).value_or(0);
  Request request = signature.read(reader, names, feeds, targets, handle);
  for (std::size_t place = 0; place < request.inputs.size(); ++place)
    checkLocation(signature.inputs()[place].name, request.inputs[place]);
  for (std::size_t place = 0; place < request.targets.size(); ++place)
    if (request.targets[place])
      checkLocation(signature.outputs()[place].name, *request.targets[place]);
  Turn turn(mutex);
  for (std::size_t place = 0; place < request.inputs.size(); ++place) {
    const TensorView &view = request.inputs[place];
    interpreter.setInput(
        signature.inputs()[place].name,
        {view.elementType, view.shape, reinterpret_cast<const void *>(view.address), view.bytes});
  }
  {
    nb::gil_scoped_release released;
    interpreter.run();
  }
  for (std::size_t place = 0; place < request.outputs.size(); ++place)
    readOutput(place, request);
  return request.results();
}

CpuSession *open(Compilation &compilation) {
  nb::gil_scoped_release released;
  Interpreter interpreter(compilation);
  nb::gil_scoped_acquire locked;
  return new CpuSession(std::move(interpreter));
}

} // namespace

void bindInterpreter(nb::module_ &module) {
  nb::class_<CpuSession>(module, "CpuSession", "A model on the CPU. Threads may share one.")
      .def(nb::new_(&open), "compilation"_a)
      .def_prop_ro("device_name",
                   [](const CpuSession &self) { return self.interpreter.deviceName(); })
      .def_prop_ro("inputs", [](const CpuSession &self) { return self.signature.inputs(); })
      .def_prop_ro("outputs", [](const CpuSession &self) { return self.signature.outputs(); })
      .def("run", &CpuSession::run, "output_names"_a.none(), "feeds"_a, "stream"_a.none(),
           "outputs"_a.none())
      .def(
          "update_weight",
          [](CpuSession &, nb::handle, nb::handle, nb::handle) {
            refuse("weights are updated on a GPU, and the session runs on the CPU: compile the "
                   "changed model");
          },
          "name"_a, "values"_a, "stream"_a.none())
      .def(
          "profile",
          [](CpuSession &, nb::handle, nb::handle) {
            refuse("a profile is of kernels, and the session runs on the CPU");
          },
          "feeds"_a, "repetitions"_a);
}

} // namespace smelt::python
