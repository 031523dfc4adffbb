#include "python/core/session.h"

#include "python/core/errors.h"
#include "python/core/request.h"
#include "python/core/turn.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace smelt::python {

namespace {

void *toStream(std::uintptr_t handle) { return reinterpret_cast<void *>(handle); }

/// Runs of one plan on one device; threads take turns. What the runtime knows already is not told it again: memory
/// and shapes that are those of the run before stay bound, and shapes of outputs are asked for once.
class GpuSession : public std::enable_shared_from_this<GpuSession> {
public:
  GpuSession(Engine &&loaded, int device)
      : engine(std::move(loaded)), device(device), signature(engine.inputs(), engine.outputs()),
        context(engine), boundInputs(signature.inputs().size()),
        boundOutputs(signature.outputs().size()) {}

  nb::list run(nb::handle names, nb::handle feeds, nb::handle stream, nb::handle targets);
  void updateWeight(const std::string &name, nb::handle values, nb::handle stream);
  nb::list profile(nb::handle feeds, std::size_t repetitions);
  void wait();

  Engine engine;
  int device;
  TensorReader reader;
  Signature signature;

private:
  void checkDevice(const std::string &what, const TensorView &view) const;
  void bindInputs(const Request &request);
  void bindInput(std::size_t place, const TensorView &view);
  void bindOutput(std::size_t place, const TensorView &view);
  void findOutputShapes();
  TensorView makeOutput(std::size_t place, bool isOnDevice, std::uintptr_t stream,
                        nb::object &made);
  void provideOutputs(Request &request, bool isOnDevice, std::uintptr_t stream);
  void runBound(bool isAwaited, std::uintptr_t stream);

  std::mutex mutex;
  std::vector<TensorView> inFlight; ///< the caller's, which the run that was enqueued last uses
  std::uintptr_t lastStream = 0;    ///< where it was enqueued
  Context context;                  ///< ends before what its run uses
  /// What the runtime has; they keep no memory.
  std::vector<std::optional<TensorView>> boundInputs, boundOutputs;
  std::vector<Shape> outputShapes; ///< empty: not known for the inputs' shapes
};

void GpuSession::checkDevice(const std::string &what, const TensorView &view) const {
  if (view.isOnDevice() && view.device != device)
    refuse(what + " lies on cuda:" + std::to_string(view.device) +
           ", and the session runs on cuda:" + std::to_string(device));
}

void GpuSession::bindInputs(const Request &request) {
  for (std::size_t place = 0; place < request.inputs.size(); ++place)
    bindInput(place, request.inputs[place]);
}

void GpuSession::bindInput(std::size_t place, const TensorView &view) {
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

void GpuSession::bindOutput(std::size_t place, const TensorView &view) {
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

void GpuSession::findOutputShapes() {
  if (!outputShapes.empty())
    return;
  std::vector<Shape> found;
  for (const TensorInfo &output : signature.outputs())
    found.push_back(context.outputShape(output.name));
  outputShapes = std::move(found);
}

TensorView GpuSession::makeOutput(std::size_t place, bool isOnDevice, std::uintptr_t stream,
                                  nb::object &made) {
  findOutputShapes();
  const TensorInfo &output = signature.outputs()[place];
  const Shape &shape = outputShapes[place];
  if (!isOnDevice) {
    made = reader.arrays().empty(output.elementType, shape);
    return reader.read(made, stream, "output", nb::str(output.name.c_str()), true);
  }
  std::size_t bytes = elementCount(shape) * smelt_element_bytes(output.elementType);
  auto memory = std::make_shared<DeviceMemory>(engine, bytes);
  auto wait = [weak = weak_from_this()] {
    std::shared_ptr<GpuSession> session = weak.lock();
    if (session != nullptr) // of one that is gone, every run is over
      session->wait();
  };
  made = nb::cast(DeviceTensor{output.elementType, shape, device, memory, wait, stream});
  auto address = reinterpret_cast<std::uintptr_t>(memory->address());
  return {output.elementType, shape, address, bytes, SMELT_DEVICE, device, memory};
}

void GpuSession::provideOutputs(Request &request, bool isOnDevice, std::uintptr_t stream) {
  for (std::size_t place = 0; place < request.outputs.size(); ++place) {
    const std::optional<TensorView> &target = request.targets[place];
    nb::object &output = request.outputs[place];
    bindOutput(place, target ? *target : makeOutput(place, isOnDevice, stream, output));
  }
}

/// Runs share the workspace, and streams do not wait for each other.
void GpuSession::runBound(bool isAwaited, std::uintptr_t stream) {
  nb::gil_scoped_release released;
  if (!inFlight.empty() && stream != lastStream)
    context.wait();
  lastStream = stream;
  if (isAwaited)
    return context.run(toStream(stream));
  context.prepare();
  context.enqueue(toStream(stream));
}

nb::list GpuSession::run(nb::handle names, nb::handle feeds, nb::handle stream,
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

void GpuSession::updateWeight(const std::string &name, nb::handle values, nb::handle stream) {
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

void GpuSession::wait() {
  Turn turn(mutex);
  nb::gil_scoped_release released;
  context.wait();
}

nb::list GpuSession::profile(nb::handle feeds, std::size_t repetitions) {
  Request request = signature.read(reader, nb::none(), feeds, nb::none(), 0);
  Turn turn(mutex);
  bindInputs(request);
  provideOutputs(request, true, 0);
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

std::shared_ptr<GpuSession> opened(Engine &&engine, int device) {
  nb::gil_scoped_acquire locked;
  return std::make_shared<GpuSession>(std::move(engine), device);
}

std::shared_ptr<GpuSession> openFile(const std::string &path, int device) {
  nb::gil_scoped_release released;
  return opened(Engine(path, optionsFor(device)), device);
}

std::shared_ptr<GpuSession> openBytes(nb::bytes plan, int device) {
  nb::gil_scoped_release released;
  return opened(Engine(plan.data(), plan.size(), optionsFor(device)), device);
}

} // namespace

void bindSession(nb::module_ &module) {
  nb::class_<GpuSession>(module, "GpuSession", "A plan on a device. Threads may share one.")
      .def(nb::new_(&openFile), "path"_a, "device"_a)
      .def_static("from_bytes", &openBytes, "plan"_a, "device"_a)
      .def_prop_ro("device_name", [](const GpuSession &self) { return self.engine.deviceName(); })
      .def_prop_ro("inputs", [](const GpuSession &self) { return self.signature.inputs(); })
      .def_prop_ro("outputs", [](const GpuSession &self) { return self.signature.outputs(); })
      .def("run", &GpuSession::run, "output_names"_a.none(), "feeds"_a, "stream"_a.none(),
           "outputs"_a.none())
      .def("update_weight", &GpuSession::updateWeight, "name"_a, "values"_a, "stream"_a.none())
      .def("profile", &GpuSession::profile, "feeds"_a, "repetitions"_a);
}

} // namespace smelt::python
