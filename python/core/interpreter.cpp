#include "python/core/interpreter.h"

#include "python/core/errors.h"
#include "python/core/tensor.h"

#include <cstring>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <smelt_compiler.hpp>

namespace nb = nanobind;
using namespace nb::literals;

namespace smelt::python {

namespace {

void setInput(Interpreter &interpreter, const std::string &name, const TensorView &view) {
  interpreter.setInput(name, {view.elementType, view.shape,
                              reinterpret_cast<const void *>(view.address), view.bytes});
}

/// Copies into memory of the output's very type and shape.
void readOutput(const Interpreter &interpreter, const std::string &name, const TensorView &view) {
  HostTensor output = interpreter.output(name);
  if (view.elementType != output.elementType || view.shape != output.shape)
    refuse("the memory for output '" + name + "' has another type or shape than the output");
  std::memcpy(reinterpret_cast<void *>(view.address), output.data, output.bytes);
}

} // namespace

void bindInterpreter(nb::module_ &module) {
  using Unlocked = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<Interpreter>(module, "Interpreter", "A model on the CPU; for one thread at a time.")
      .def(nb::init<Compilation &>(), "compilation"_a, Unlocked())
      .def_prop_ro("device_name", &Interpreter::deviceName)
      .def_prop_ro("inputs", &Interpreter::inputs)
      .def_prop_ro("outputs", &Interpreter::outputs)
      .def("set_input", &setInput, "name"_a, "tensor"_a)
      .def("run", &Interpreter::run, Unlocked())
      .def(
          "output_shape",
          [](const Interpreter &self, const std::string &name) { return self.output(name).shape; },
          "name"_a)
      .def("read_output", &readOutput, "name"_a, "into"_a);
}

} // namespace smelt::python
