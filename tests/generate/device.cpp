#include "tests/generate/device.h"

#include "tests/generate/tensor_bytes.h"

#include "runtime/device.h"
#include "runtime/smelt.h"

#include <cstring>

namespace smelt::generate {

namespace {

constexpr size_t kZone = 4096; // bytes in front of and behind each of the caller's tensors
constexpr char kZoneByte = 0x5a;
constexpr char kPoison =
    static_cast<char>(0xff); // NaN in every float type, -1 in integers, no bool

smelt_element_type runtimeType(ElementType type) {
  switch (type) {
  case Wire::FLOAT:
    return SMELT_F32;
  case Wire::FLOAT16:
    return SMELT_F16;
  case Wire::BFLOAT16:
    return SMELT_BF16;
  case Wire::DOUBLE:
    return SMELT_F64;
  case Wire::INT64:
    return SMELT_I64;
  case Wire::INT32:
    return SMELT_I32;
  case Wire::INT16:
    return SMELT_I16;
  case Wire::INT8:
    return SMELT_I8;
  case Wire::UINT64:
    return SMELT_U64;
  case Wire::UINT32:
    return SMELT_U32;
  case Wire::UINT16:
    return SMELT_U16;
  case Wire::UINT8:
    return SMELT_U8;
  default:
    return SMELT_BOOL;
  }
}

/// A call of the C API as a Status.
template <typename Call> Status call(const char *doing, Call function) {
  smelt_error error = SMELT_ERROR_INIT;
  smelt_code code = function(&error);
  if (code == SMELT_OK)
    return Status();
  return Status(static_cast<StatusCode>(code), std::string(doing) + ": " + error.message);
}

struct Gpu {
  runtime::Driver driver;
  runtime::SharedDevice device;
  CUstream stream = nullptr;
};

/// Opened once in a process, and never closed: it dies with the process.
Result<Gpu *> openGpu() {
  static Gpu gpu;
  if (gpu.stream)
    return &gpu;
  SMELT_ASSIGN_OR_RETURN(gpu.driver, runtime::openDriver());
  SMELT_ASSIGN_OR_RETURN(gpu.device, runtime::Device::open(gpu.driver, 0));
  if (gpu.driver->cuCtxPushCurrent(gpu.device->context()) != CUDA_SUCCESS)
    return Status(StatusCode::kRunFailed, "the device's context cannot be entered");
  SMELT_RETURN_IF_CUDA_ERROR(*gpu.driver, "making a stream", cuStreamCreate, &gpu.stream,
                             CU_STREAM_NON_BLOCKING);
  return &gpu;
}

/// A tensor of the caller's on the device, between its zones.
class Guarded {
public:
  static Result<Guarded> make(Gpu &gpu, size_t bytes) {
    Guarded guarded;
    guarded.bytes = bytes;
    size_t padded = (bytes + 255) / 256 * 256;
    SMELT_ASSIGN_OR_RETURN(guarded.memory, runtime::DeviceMemory::allocate(
                                               gpu.device, {}, 2 * kZone + padded, "a tensor"));
    return guarded;
  }

  CUdeviceptr data() const { return memory.address() + kZone; }

  Status fill(Gpu &gpu, const std::string &contents) {
    std::string all(memory.bytes(), kZoneByte);
    std::memcpy(all.data() + kZone, contents.data(), bytes);
    SMELT_RETURN_IF_CUDA_ERROR(*gpu.driver, "writing a tensor", cuMemcpyHtoDAsync, memory.address(),
                               all.data(), all.size(), gpu.stream);
    SMELT_RETURN_IF_CUDA_ERROR(*gpu.driver, "writing a tensor", cuStreamSynchronize, gpu.stream);
    return Status();
  }

  /// The contents; fails where a zone is not as it was.
  Result<std::string> read(Gpu &gpu, const std::string &name) const {
    std::string all(memory.bytes(), '\0');
    SMELT_RETURN_IF_CUDA_ERROR(*gpu.driver, "reading a tensor", cuMemcpyDtoHAsync, all.data(),
                               memory.address(), all.size(), gpu.stream);
    SMELT_RETURN_IF_CUDA_ERROR(*gpu.driver, "reading a tensor", cuStreamSynchronize, gpu.stream);
    for (size_t i = 0; i < all.size(); ++i)
      if ((i < kZone || i >= kZone + bytes) && all[i] != kZoneByte)
        return Status(StatusCode::kRunFailed,
                      "memory outside '" + name + "' was written, at byte " +
                          std::to_string(static_cast<int64_t>(i) - static_cast<int64_t>(kZone)) +
                          " of " + std::to_string(bytes));
    return all.substr(kZone, bytes);
  }

private:
  runtime::DeviceMemory memory;
  size_t bytes = 0;
};

class PlanRunner {
public:
  PlanRunner(Gpu &gpu, const Graph &graph) : gpu(gpu), graph(graph) {}
  ~PlanRunner() {
    smelt_context_destroy(context);
    smelt_engine_destroy(engine);
  }

  Status open(const std::string &path) {
    SMELT_RETURN_IF_ERROR(call("loading the plan", [&](smelt_error *error) {
      return smelt_engine_create(path.c_str(), nullptr, &engine, error);
    }));
    return call("making a context", [&](smelt_error *error) {
      return smelt_context_create(engine, nullptr, &context, error);
    });
  }

  Result<std::vector<Array>> run(const DeviceRun &run) {
    std::vector<Guarded> inputs, outputs;
    SMELT_RETURN_IF_ERROR(bindInputs(run, inputs));
    SMELT_RETURN_IF_ERROR(bindOutputs(run, outputs));
    SMELT_RETURN_IF_ERROR(call("running", [&](smelt_error *error) {
      return smelt_context_run(context, gpu.stream, error);
    }));
    for (size_t i = 0; i < inputs.size(); ++i) {
      SMELT_ASSIGN_OR_RETURN(std::string now, inputs[i].read(gpu, inputName(i)));
      if (now != (*run.inputs)[i].bytes)
        return Status(StatusCode::kRunFailed, "input '" + inputName(i) + "' was written");
    }
    std::vector<Array> results;
    for (size_t i = 0; i < outputs.size(); ++i) {
      SMELT_ASSIGN_OR_RETURN(std::string bytes, outputs[i].read(gpu, outputName(i)));
      results.push_back({outputType(i), run.outputShapes[i], std::move(bytes)});
    }
    return results;
  }

private:
  std::string inputName(size_t i) const {
    return graph.model.graph().input(static_cast<int>(i)).name();
  }
  std::string outputName(size_t i) const {
    return graph.model.graph().output(static_cast<int>(i)).name();
  }
  ElementType outputType(size_t i) const { return graph.values.at(outputName(i)).type; }

  smelt_binding binding(ElementType type, const Guarded &memory, size_t bytes) {
    smelt_binding binding = SMELT_BINDING_INIT;
    binding.element_type = runtimeType(type);
    binding.location = SMELT_DEVICE;
    binding.data = reinterpret_cast<void *>(memory.data());
    binding.bytes = bytes;
    return binding;
  }

  Status bindInputs(const DeviceRun &run, std::vector<Guarded> &memory) {
    for (size_t i = 0; i < run.inputs->size(); ++i) {
      const Array &array = (*run.inputs)[i];
      std::string name = inputName(i);
      SMELT_RETURN_IF_ERROR(call("setting a shape", [&](smelt_error *error) {
        return smelt_context_set_input_shape(context, name.c_str(), array.shape.data(),
                                             array.shape.size(), error);
      }));
      SMELT_ASSIGN_OR_RETURN(Guarded room, Guarded::make(gpu, array.bytes.size()));
      SMELT_RETURN_IF_ERROR(room.fill(gpu, array.bytes));
      smelt_binding bound = binding(array.type, room, array.bytes.size());
      memory.push_back(std::move(room));
      SMELT_RETURN_IF_ERROR(call("binding an input", [&](smelt_error *error) {
        return smelt_context_bind_input(context, name.c_str(), &bound, error);
      }));
    }
    return Status();
  }

  Status checkShape(const std::string &name, const std::vector<int64_t> &wanted) {
    std::vector<smelt_int64> shape(wanted.size() + 1);
    size_t rank = 0;
    SMELT_RETURN_IF_ERROR(call("asking a shape", [&](smelt_error *error) {
      return smelt_context_output_shape(context, name.c_str(), shape.data(), shape.size(), &rank,
                                        error);
    }));
    shape.resize(rank);
    if (!std::equal(shape.begin(), shape.end(), wanted.begin(), wanted.end()))
      return Status(StatusCode::kRunFailed,
                    "output '" + name + "' has another shape than the interpreter gives it");
    return Status();
  }

  Status bindOutputs(const DeviceRun &run, std::vector<Guarded> &memory) {
    for (size_t i = 0; i < run.outputShapes.size(); ++i) {
      std::string name = outputName(i);
      SMELT_RETURN_IF_ERROR(checkShape(name, run.outputShapes[i]));
      size_t bytes = elementBytes(outputType(i));
      for (int64_t extent : run.outputShapes[i])
        bytes *= static_cast<size_t>(extent);
      SMELT_ASSIGN_OR_RETURN(Guarded room, Guarded::make(gpu, bytes));
      SMELT_RETURN_IF_ERROR(room.fill(gpu, std::string(bytes, kPoison)));
      smelt_binding bound = binding(outputType(i), room, bytes);
      memory.push_back(std::move(room));
      SMELT_RETURN_IF_ERROR(call("binding an output", [&](smelt_error *error) {
        return smelt_context_bind_output(context, name.c_str(), &bound, error);
      }));
    }
    return Status();
  }

  Gpu &gpu;
  const Graph &graph;
  smelt_engine *engine = nullptr;
  smelt_context *context = nullptr;
};

} // namespace

Result<std::vector<std::vector<Array>>> runPlan(const std::string &path, const Graph &graph,
                                                const std::vector<DeviceRun> &runs) {
  SMELT_ASSIGN_OR_RETURN(Gpu * gpu, openGpu());
  PlanRunner runner(*gpu, graph);
  SMELT_RETURN_IF_ERROR(runner.open(path));
  std::vector<std::vector<Array>> results;
  for (const DeviceRun &run : runs) {
    SMELT_ASSIGN_OR_RETURN(std::vector<Array> outputs, runner.run(run));
    results.push_back(std::move(outputs));
  }
  return results;
}

Result<std::string> deviceArchitecture() {
  SMELT_ASSIGN_OR_RETURN(Gpu * gpu, openGpu());
  return std::string(gpu->device->computeCapability() == 90 ? "sm_90a" : "sm_80");
}

} // namespace smelt::generate
