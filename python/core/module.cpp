// smelt._core: what the package smelt is made of, over the public C++ headers alone.
#include "python/core/compilation.h"
#include "python/core/errors.h"
#include "python/core/session.h"
#include "python/core/tensor.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace {

/// (the model's name, its inputs, its outputs)
nb::tuple describePlan(const smelt::Plan &plan) {
  return nb::make_tuple(plan.modelName(), plan.inputs(), plan.outputs());
}

} // namespace

NB_MODULE(_core, module) {
  smelt::python::translateErrors();
  module.attr("version") = smelt_version();
  nb::class_<smelt::TensorInfo>(module, "TensorInfo")
      .def_ro("name", &smelt::TensorInfo::name)
      .def_ro("element_type", &smelt::TensorInfo::elementType)
      .def_ro("shape", &smelt::TensorInfo::shape)
      .def_ro("extent_texts", &smelt::TensorInfo::extentTexts);
  module.def(
      "describe_file", [](const std::string &path) { return describePlan(smelt::Plan(path)); },
      "path"_a, "The model's name, the inputs and the outputs of a plan.");
  module.def(
      "describe_bytes",
      [](nb::bytes plan) { return describePlan(smelt::Plan(plan.data(), plan.size())); }, "plan"_a);
  smelt::python::bindTensors(module);
  smelt::python::bindCompilation(module);
  smelt::python::bindSession(module);
}
