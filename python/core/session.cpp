#include "python/core/session.h"

#include "python/core/errors.h"
#include "python/core/request.h"
#include "python/core/stream.h"
#include "python/core/turn.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <smelt_compiler.hpp>

namespace nb = nanobind;
using namespace nb::literals;

namespace smelt::python {

namespace {

void *toStream(std::uintptr_t handle) { return reinterpret_cast<void *>(handle); }

/// Runs of one plan on one device, or of one model on the CPU; threads take turns. What the runtime knows already is not
/// told it again: memory and shapes that are those of the run before stay bound, and shapes of outputs are asked for once.
class DeviceSession : public std::enable_shared_from_this<DeviceSession> {
public:
  /// `device` is a CUDA ordinal; none: the CPU.
  DeviceSession(Engine &&loaded, std::optional<int> device)
      : engine(std::move(loaded)), device(device), signature(engine.inputs(), engine.outputs()),
        outputMemory(std::make_shared<OutputMemory>(engine, 2 * signature.outputs().size())),
        context(engine), boundInputs(signature.inputs().size()),
        boundOutputs(signature.outputs().size()) {}

  nb::list run(nb::handle names, nb::handle feeds, nb::handle stream, nb::handle targets);
  void updateWeight(const std::string &name, nb::handle values, nb::handle stream);
  nb::list profile(nb::handle feeds, std::size_t repetitions);
  void wait();

  Engine engine;
  std::optional<int> device;
  TensorReader reader;
  Signature signature;

private:
  void checkDevice(const std::string &what, const TensorView &view) const;
  void bindInputs(const Request &request);
  void bindInput(std::size_t place, const TensorView &view);
  void bindOutput(std::size_t place, const TensorView &view);
  void findOutputShapes();
  void checkTarget(std::size_t place, const TensorView &target);
  TensorView makeOutput(std::size_t place, bool isOnDevice, std::uintptr_t stream,
                        nb::object &made);
  void provideOutputs(Request &request, bool isOnDevice, std::uintptr_t stream);
  void runBound(bool isAwaited, std::uintptr_t stream);

  std::mutex mutex;
  std::shared_ptr<OutputMemory> outputMemory;
  std::vector<TensorView> inFlight; ///< the caller's, which the run that was enqueued last uses
  std::uintptr_t lastStream = 0;    ///< where it was enqueued
  Context context;                  ///< ends before what its run uses
  /// What the runtime has; they keep no memory.
  std::vector<std::optional<TensorView>> boundInputs, boundOutputs;
  std::vector<Shape> outputShapes; ///< empty: not known for the inputs' shapes
};

void DeviceSession::checkDevice(const std::string &what, const TensorView &view) const {
  if (view.isOnDevice() && view.device != device)
    refuse(what + " lies on cuda:" + std::to_string(view.device) + ", and the session runs on " +
           (device ? "cuda:" + std::to_string(*device) : "the CPU"));
}

void DeviceSession::bindInputs(const Request &request) {
  for (std::size_t place = 0; place < request.inputs.size(); ++place)
    bindInput(place, request.inputs[place]);
}

void DeviceSession::bindInput(std::size_t place, const TensorView &view) {
  std::optional<TensorView> &bound = boundInputs[place];
  if (bound && bound->isLike(view))
    return;
  const std::string &name = signature.inputs()[place].name;
  checkDevice("input '" + name + "'", view);
  bool hasShape = bound && bound->shape == view.shape;
  bound.reset();
  if (!hasShape) {
    outputShapes.clear();
    context.setInputShape(name, view.shape);
  }
  context.bindInput(name, view.memory());
  bound = view;
  bound->kept.reset();
}

void DeviceSession::bindOutput(std::size_t place, const TensorView &view) {
  std::optional<TensorView> &bound = boundOutputs[place];
  if (bound && bound->isLike(view))
    return;
  const std::string &name = signature.outputs()[place].name;
  checkDevice("output '" + name + "'", view);
  bound.reset();
  context.bindOutput(name, view.memory());
  bound = view;
  bound->kept.reset();
}

void DeviceSession::findOutputShapes() {
  if (!outputShapes.empty())
    return;
  std::vector<Shape> found;
  for (const TensorInfo &output : signature.outputs())
    found.push_back(context.outputShape(output.name));
  outputShapes = std::move(found);
}

/// The caller's memory is of the output's very type and shape.
void DeviceSession::checkTarget(std::size_t place, const TensorView &target) {
  findOutputShapes();
  const TensorInfo &output = signature.outputs()[place];
  if (target.elementType != output.elementType || target.shape != outputShapes[place])
    refuse("the memory for output '" + output.name + "' has another type or shape than the output");
}

TensorView DeviceSession::makeOutput(std::size_t place, bool isOnDevice, std::uintptr_t stream,
                                     nb::object &made) {
  findOutputShapes();
  const TensorInfo &output = signature.outputs()[place];
  const Shape &shape = outputShapes[place];
  if (!isOnDevice) {
    made = reader.arrays().empty(output.elementType, shape);
    return reader.read(made, stream, "output", nb::str(output.name.c_str()), true);
  }
  std::size_t bytes = elementCount(shape) * smelt_element_bytes(output.elementType);
  std::shared_ptr<OutputBlock> memory = outputMemory->take(bytes, stream);
  auto wait = [weak = weak_from_this()] {
    std::shared_ptr<DeviceSession> session = weak.lock();
    if (session != nullptr) // of one that is gone, every run is over
      session->wait();
  };
  made =
      nb::cast(DeviceTensor{output.elementType, shape, device.value_or(0), memory, wait, stream});
  auto address = reinterpret_cast<std::uintptr_t>(memory->address());
  return {output.elementType, shape, address, bytes, SMELT_DEVICE, device.value_or(0), memory};
}

void DeviceSession::provideOutputs(Request &request, bool isOnDevice, std::uintptr_t stream) {
  for (std::size_t place = 0; place < request.outputs.size(); ++place) {
    const std::optional<TensorView> &target = request.targets[place];
    nb::object &output = request.outputs[place];
    if (target)
      checkTarget(place, *target);
    bindOutput(place, target ? *target : makeOutput(place, isOnDevice, stream, output));
  }
}

/// Runs share the workspace, and streams do not wait for each other.
void DeviceSession::runBound(bool isAwaited, std::uintptr_t stream) {
  nb::gil_scoped_release released;
  if (!inFlight.empty() && !isSameStream(stream, lastStream))
    context.wait();
  lastStream = stream;
  if (isAwaited)
    return context.run(toStream(stream));
  context.prepare();
  context.enqueue(toStream(stream));
}

nb::list DeviceSession::run(nb::handle names, nb::handle feeds, nb::handle stream,
                            nb::handle targets) {
  std::optional<std::uintptr_t> given = streamOf(stream);
  std::uintptr_t handle = given.value_or(0);
  Request request = signature.read(reader, names, feeds, targets, handle);
  std::vector<TensorView> former; // released when others have their turn
  Turn turn(mutex);
  bindInputs(request);
  bool isOnDevice = request.hasInputIn(SMELT_DEVICE);
  bool isAwaited = !given || !isOnDevice || request.usesHost();
  provideOutputs(request, isOnDevice, handle);
  runBound(isAwaited, handle);
  former = std::exchange(inFlight, {});
  if (!isAwaited)
    inFlight = request.takeTensors();
  return request.results();
}

void DeviceSession::updateWeight(const std::string &name, nb::handle values, nb::handle stream) {
  std::uintptr_t handle = streamOf(stream).value_or(0);
  TensorView view = reader.read(values, handle, "weight", nb::str(name.c_str()), false);
  Turn turn(mutex);
  checkDevice("weight '" + name + "'", view);
  {
    nb::gil_scoped_release released;
    engine.updateWeight(name, view.memory(), toStream(handle));
  }
  inFlight.push_back(std::move(view));
}

void DeviceSession::wait() {
  Turn turn(mutex);
  nb::gil_scoped_release released;
  context.wait();
}

nb::list DeviceSession::profile(nb::handle feeds, std::size_t repetitions) {
  Request request = signature.read(reader, nb::none(), feeds, nb::none(), 0);
  Turn turn(mutex);
  bindInputs(request);
  provideOutputs(request, true, kThreadStream); // profiling has streams of its own
  std::vector<LaunchTime> launches;
  {
    nb::gil_scoped_release released;
    context.prepare();
    launches = context.profile(repetitions);
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

smelt_engine_options optionsFor(int device) {
  smelt_engine_options options = SMELT_ENGINE_OPTIONS_INIT;
  options.device = device;
  return options;
}

std::shared_ptr<DeviceSession> opened(Engine &&engine, std::optional<int> device) {
  nb::gil_scoped_acquire locked;
  return std::make_shared<DeviceSession>(std::move(engine), device);
}

std::shared_ptr<DeviceSession> openFile(const std::string &path, int device) {
  nb::gil_scoped_release released;
  return opened(Engine(path, optionsFor(device)), device);
}

std::shared_ptr<DeviceSession> openBytes(nb::bytes plan, int device) {
  nb::gil_scoped_release released;
  return opened(Engine(plan.data(), plan.size(), optionsFor(device)), device);
}

std::shared_ptr<DeviceSession> openOnCpu(Compilation &compilation) {
  nb::gil_scoped_release released;
  return opened(compilation.toCpuEngine(), std::nullopt);
}

} // namespace

void bindSession(nb::module_ &module) {
  nb::class_<DeviceSession>(module, "DeviceSession",
                            "A plan on a GPU, or a model on the CPU. Threads may share one.")
      .def(nb::new_(&openFile), "path"_a, "device"_a)
      .def_static("from_bytes", &openBytes, "plan"_a, "device"_a)
      .def_static("on_cpu", &openOnCpu, "compilation"_a)
      .def_prop_ro("device_name",
                   [](const DeviceSession &self) { return self.engine.deviceName(); })
      .def_prop_ro("inputs", [](const DeviceSession &self) { return self.signature.inputs(); })
      .def_prop_ro("outputs", [](const DeviceSession &self) { return self.signature.outputs(); })
      .def("run", &DeviceSession::run, "output_names"_a.none(), "feeds"_a, "stream"_a.none(),
           "outputs"_a.none())
      .def("update_weight", &DeviceSession::updateWeight, "name"_a, "values"_a, "stream"_a.none())
      .def("profile", &DeviceSession::profile, "feeds"_a, "repetitions"_a);
}

} // namespace smelt::python
