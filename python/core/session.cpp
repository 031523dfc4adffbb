#include "python/core/session.h"

#include "python/core/tensor.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace smelt::python {

namespace {

smelt_engine_options optionsFor(int device) {
  smelt_engine_options options = SMELT_ENGINE_OPTIONS_INIT;
  options.device = device;
  return options;
}

/// An engine and a context; one thread at a time, which smelt.Session sees to.
class GpuSession {
public:
  GpuSession(Engine &&loaded, int device)
      : engine(std::move(loaded)), context(engine), device(device) {}

  DeviceTensor allocate(smelt_element_type type, const Shape &shape, std::uintptr_t stream,
                        nb::object wait) {
    std::size_t bytes = elementCount(shape) * smelt_element_bytes(type);
    return {type, shape, device, std::make_shared<DeviceMemory>(engine, bytes), wait, stream};
  }
  void bindOutput(const std::string &name, const DeviceTensor &tensor) {
    std::size_t bytes = elementCount(tensor.shape) * smelt_element_bytes(tensor.elementType);
    context.bindOutput(name, {SMELT_DEVICE, tensor.elementType, tensor.memory->address(), bytes});
  }

  Engine engine;
  Context context;
  int device;
};

nb::list profile(GpuSession &session, std::size_t repetitions) {
  std::vector<LaunchTime> launches;
  {
    nb::gil_scoped_release released;
    session.context.prepare();
    launches = session.context.profile(repetitions);
  }
  nb::list rows;
  for (const LaunchTime &launch : launches) {
    nb::dict row;
    row["number"] = launch.number;
    row["name"] = launch.name;
    row["time_us"] = launch.microseconds;
    row["bytes"] = launch.bytes;
    row["flops"] = launch.flops;
    row["onnx_nodes"] = launch.onnxNodes;
    rows.append(row);
  }
  return rows;
}

GpuSession *openFile(const std::string &path, int device) {
  return new GpuSession(Engine(path, optionsFor(device)), device);
}

GpuSession *openBytes(nb::bytes plan, int device) {
  nb::gil_scoped_release released;
  return new GpuSession(Engine(plan.data(), plan.size(), optionsFor(device)), device);
}

} // namespace

void bindSession(nb::module_ &module) {
  using Unlocked = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<GpuSession>(module, "GpuSession", "A plan on a device; for one thread at a time.")
      .def(nb::new_(&openFile), "path"_a, "device"_a, Unlocked())
      .def_static("from_bytes", &openBytes, "plan"_a, "device"_a)
      .def_prop_ro("device_name", [](const GpuSession &self) { return self.engine.deviceName(); })
      .def_prop_ro("inputs", [](const GpuSession &self) { return self.engine.inputs(); })
      .def_prop_ro("outputs", [](const GpuSession &self) { return self.engine.outputs(); })
      .def(
          "bind_input",
          [](GpuSession &self, const std::string &name, const TensorView &view) {
            self.context.setInputShape(name, view.shape);
            self.context.bindInput(name, view.memory());
          },
          "name"_a, "tensor"_a)
      .def(
          "bind_output",
          [](GpuSession &self, const std::string &name, const TensorView &view) {
            self.context.bindOutput(name, view.memory());
          },
          "name"_a, "tensor"_a)
      .def(
          "update_weight",
          [](GpuSession &self, const std::string &name, const TensorView &view,
             std::uintptr_t stream) {
            self.engine.updateWeight(name, view.memory(), reinterpret_cast<void *>(stream));
          },
          "name"_a, "values"_a, "stream"_a, Unlocked())
      .def("bind_device_output", &GpuSession::bindOutput, "name"_a, "tensor"_a)
      .def("allocate", &GpuSession::allocate, "element_type"_a, "shape"_a, "stream"_a,
           "wait"_a.none())
      .def(
          "output_shape",
          [](GpuSession &self, const std::string &name) { return self.context.outputShape(name); },
          "name"_a)
      .def(
          "run",
          [](GpuSession &self, std::uintptr_t stream) {
            self.context.run(reinterpret_cast<void *>(stream));
          },
          "stream"_a, Unlocked())
      .def(
          "enqueue",
          [](GpuSession &self, std::uintptr_t stream) {
            self.context.prepare();
            self.context.enqueue(reinterpret_cast<void *>(stream));
          },
          "stream"_a, Unlocked())
      .def(
          "wait", [](GpuSession &self) { self.context.wait(); }, Unlocked())
      .def("profile", &profile, "repetitions"_a);
}

} // namespace smelt::python
