// Smelt's runtime for C++17: smelt.h with objects that clean up after themselves and failures as
// exceptions. Header only; nothing of the C++ library crosses into libsmelt_rt.
//
//   smelt::Engine engine("model.plan");
//   smelt::Context context(engine);
//   context.setInputShape("ids", {1, 128});
//   context.bindInput("ids", smelt::host(ids.data(), ids.size()));
//   context.bindOutput("logits", smelt::host(logits.data(), logits.size()));
//   context.run();
#pragma once

#include "smelt.h"

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace smelt {

/// A failed call. code() is one of smelt_code, what() tells what went wrong and what to do.
class Error : public std::runtime_error {
public:
  Error(smelt_code code, const smelt_error &error)
      : std::runtime_error(error.message), failure(code) {}

  smelt_code code() const noexcept { return failure; }

private:
  smelt_code failure;
};

/// The element type that a C++ type stands for. Half-precision types have no standard C++ type:
/// name SMELT_F16 or SMELT_BF16.
template <typename T> constexpr smelt_element_type elementTypeOf() {
  using Element = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<Element, float>)
    return SMELT_F32;
  else if constexpr (std::is_same_v<Element, double>)
    return SMELT_F64;
  else if constexpr (std::is_same_v<Element, bool>)
    return SMELT_BOOL;
  else {
    static_assert(std::is_integral_v<Element>, "name the element type of this type");
    constexpr bool isSigned = std::is_signed_v<Element>;
    switch (sizeof(Element)) {
    case 1:
      return isSigned ? SMELT_I8 : SMELT_U8;
    case 2:
      return isSigned ? SMELT_I16 : SMELT_U16;
    case 4:
      return isSigned ? SMELT_I32 : SMELT_U32;
    default:
      return isSigned ? SMELT_I64 : SMELT_U64;
    }
  }
}

/// Memory of the caller for one tensor.
class Memory {
public:
  Memory(smelt_location location, smelt_element_type type, const void *data, std::size_t bytes) {
    described.location = location;
    described.element_type = type;
    described.data = const_cast<void *>(data); // the library only reads what is bound to inputs
    described.bytes = bytes;
  }

  /// The same memory, laid out for `extent` along the axis along which the tensor grows in place.
  Memory withCapacity(smelt_int64 extent) const {
    Memory memory = *this;
    memory.described.capacity = extent;
    return memory;
  }

  const smelt_binding &binding() const { return described; }

private:
  smelt_binding described = SMELT_BINDING_INIT;
};

/// `count` elements in host memory, copied around each run.
template <typename T> Memory host(T *data, std::size_t count) {
  return {SMELT_HOST, elementTypeOf<T>(), data, count * sizeof(T)};
}
inline Memory host(smelt_element_type type, void *data, std::size_t count) {
  return {SMELT_HOST, type, data, count * smelt_element_bytes(type)};
}

/// `count` elements in device memory, used in place.
template <typename T> Memory device(T *data, std::size_t count) {
  return {SMELT_DEVICE, elementTypeOf<T>(), data, count * sizeof(T)};
}
inline Memory device(smelt_element_type type, void *data, std::size_t count) {
  return {SMELT_DEVICE, type, data, count * smelt_element_bytes(type)};
}

using Shape = std::vector<std::int64_t>;
static_assert(std::is_same_v<std::int64_t, smelt_int64>, "shapes cross without a copy");

/// An input or output of a model; extents that depend on the inputs' shapes are -1.
struct TensorInfo {
  std::string name;
  smelt_element_type elementType;
  Shape shape;
  smelt_int64 alias;        ///< the input whose memory the output takes over; -1: none
  smelt_int64 capacityAxis; ///< along which its memory may have room for more; -1: none
  std::vector<std::string> extentTexts; ///< "128", "batch", "2*length"
};

/// A size of inputs that a plan leaves open; see smelt_dimension_info.
struct DimensionInfo {
  std::string name;
  smelt_int64 least;
  smelt_int64 most; ///< -1: no limit
};

/// What must hold of the sizes of inputs; see smelt_guard_info.
struct GuardInfo {
  std::string text, message;
};

/// An initializer of the model; see smelt_weight_info.
struct WeightInfo {
  std::string name;
  smelt_element_type elementType;
  Shape shape;
  std::string refusal; ///< why it cannot be updated; "": it can
  bool isCopied;       ///< an update is copies alone
  std::string placement;
};

/// Calls a function of smelt.h that takes a smelt_error; throws Error when it fails.
template <typename Call> void check(Call call) {
  smelt_error error = SMELT_ERROR_INIT;
  smelt_code code = call(&error);
  if (code != SMELT_OK)
    throw Error(code, error);
}

/// The inputs or outputs of what `handle` stands for.
template <typename Handle, typename Query>
std::vector<TensorInfo> describe(const Handle *handle, std::size_t count, Query query) {
  std::vector<TensorInfo> tensors;
  for (std::size_t i = 0; i < count; ++i) {
    smelt_tensor_info info = SMELT_TENSOR_INFO_INIT;
    check([&](smelt_error *error) { return query(handle, i, &info, error); });
    tensors.push_back({info.name,
                       info.element_type,
                       Shape(info.extents, info.extents + info.rank),
                       info.alias,
                       info.capacity_axis,
                       {info.extent_texts, info.extent_texts + info.rank}});
  }
  return tensors;
}

/// The initializers of the model that `handle` stands for.
template <typename Handle, typename Query>
std::vector<WeightInfo> describeWeights(const Handle *handle, std::size_t count, Query query) {
  std::vector<WeightInfo> weights;
  for (std::size_t i = 0; i < count; ++i) {
    smelt_weight_info info = SMELT_WEIGHT_INFO_INIT;
    check([&](smelt_error *error) { return query(handle, i, &info, error); });
    weights.push_back({info.name, info.element_type, Shape(info.extents, info.extents + info.rank),
                       info.refusal ? info.refusal : "", info.is_copied != 0, info.placement});
  }
  return weights;
}

/// What a plan takes and gives; needs no device.
class Plan {
public:
  explicit Plan(const std::string &path) {
    check([&](smelt_error *error) { return smelt_plan_open(path.c_str(), &handle, error); });
  }
  Plan(const void *data, std::size_t bytes) {
    check([&](smelt_error *error) {
      return smelt_plan_open_from_memory(data, bytes, &handle, error);
    });
  }
  Plan(Plan &&other) noexcept : handle(std::exchange(other.handle, nullptr)) {}
  Plan &operator=(Plan &&other) noexcept {
    std::swap(handle, other.handle);
    return *this;
  }
  ~Plan() { smelt_plan_close(handle); }

  std::string modelName() const { return smelt_plan_model_name(handle); }
  std::vector<TensorInfo> inputs() const {
    return describe(handle, smelt_plan_input_count(handle), smelt_plan_input);
  }
  std::vector<TensorInfo> outputs() const {
    return describe(handle, smelt_plan_output_count(handle), smelt_plan_output);
  }
  std::vector<DimensionInfo> dimensions() const {
    std::vector<DimensionInfo> dimensions;
    for (std::size_t i = 0; i < smelt_plan_dimension_count(handle); ++i) {
      smelt_dimension_info info = SMELT_DIMENSION_INFO_INIT;
      check([&](smelt_error *error) { return smelt_plan_dimension(handle, i, &info, error); });
      dimensions.push_back({info.name, info.least, info.most});
    }
    return dimensions;
  }
  std::vector<GuardInfo> guards() const {
    std::vector<GuardInfo> guards;
    for (std::size_t i = 0; i < smelt_plan_guard_count(handle); ++i) {
      smelt_guard_info info = SMELT_GUARD_INFO_INIT;
      check([&](smelt_error *error) { return smelt_plan_guard(handle, i, &info, error); });
      guards.push_back({info.text, info.message});
    }
    return guards;
  }
  std::size_t weightBytes() const { return smelt_plan_weight_bytes(handle); }
  std::vector<WeightInfo> weights() const {
    return describeWeights(handle, smelt_plan_weight_count(handle), smelt_plan_weight);
  }

private:
  smelt_plan *handle = nullptr;
};

/// What an engine on the CPU calls, kept as long as it and its contexts.
class Callbacks {
public:
  virtual ~Callbacks() = default;
  /// Throws what a callback threw during the run of this thread that just ended.
  virtual void rethrow() = 0;
};

/// A plan on a device, or a model on the CPU (Compilation::toCpuEngine). Any thread may use it.
class Engine {
public:
  /// Loads a plan file. `device` is a CUDA ordinal.
  explicit Engine(const std::string &path, int device = 0) {
    smelt_engine_options options = SMELT_ENGINE_OPTIONS_INIT;
    options.device = device;
    create(path.c_str(), options);
  }
  Engine(const std::string &path, const smelt_engine_options &options) {
    create(path.c_str(), options);
  }
  /// Loads a plan from memory.
  Engine(const void *plan, std::size_t bytes, const smelt_engine_options &options) {
    check([&](smelt_error *error) {
      return smelt_engine_create_from_memory(plan, bytes, &options, &handle, error);
    });
  }
  /// Takes over an engine that runs on the CPU.
  Engine(smelt_engine *made, std::shared_ptr<Callbacks> callbacks)
      : called(std::move(callbacks)), handle(made) {}
  Engine(Engine &&other) noexcept
      : called(std::move(other.called)), handle(std::exchange(other.handle, nullptr)) {}
  Engine &operator=(Engine &&other) noexcept {
    std::swap(called, other.called);
    std::swap(handle, other.handle);
    return *this;
  }
  ~Engine() { smelt_engine_destroy(handle); }

  std::string modelName() const { return smelt_engine_model_name(handle); }
  std::string deviceName() const { return smelt_engine_device_name(handle); }
  std::vector<TensorInfo> inputs() const {
    return describe(handle, smelt_engine_input_count(handle), smelt_engine_input);
  }
  std::vector<TensorInfo> outputs() const {
    return describe(handle, smelt_engine_output_count(handle), smelt_engine_output);
  }
  std::vector<WeightInfo> weights() const {
    return describeWeights(handle, smelt_engine_weight_count(handle), smelt_engine_weight);
  }
  /// In the order of the work on `stream`; see smelt_engine_update_weight.
  void updateWeight(const std::string &name, const Memory &values, void *stream = nullptr) {
    check([&](smelt_error *error) {
      return smelt_engine_update_weight(handle, name.c_str(), &values.binding(), stream, error);
    });
  }
  const smelt_engine *get() const { return handle; }
  /// Null on a GPU.
  const std::shared_ptr<Callbacks> &callbacks() const { return called; }
  /// smelt::check.
  template <typename Call> static void check(Call call) { smelt::check(call); }

private:
  void create(const char *path, const smelt_engine_options &options) {
    check([&](smelt_error *error) { return smelt_engine_create(path, &options, &handle, error); });
  }

  std::shared_ptr<Callbacks> called; ///< ends after the engine
  smelt_engine *handle = nullptr;
};

/// Memory of the engine's device; no run may use it when it is released.
class DeviceMemory {
public:
  DeviceMemory(const Engine &engine, std::size_t bytes) {
    check([&](smelt_error *error) {
      return smelt_memory_allocate(engine.get(), bytes, &handle, error);
    });
  }
  DeviceMemory(DeviceMemory &&other) noexcept : handle(std::exchange(other.handle, nullptr)) {}
  DeviceMemory &operator=(DeviceMemory &&other) noexcept {
    std::swap(handle, other.handle);
    return *this;
  }
  ~DeviceMemory() { smelt_memory_release(handle); }

  void *address() const { return smelt_memory_address(handle); }

private:
  smelt_memory *handle = nullptr;
};

/// What one launch of the graph takes by itself; see smelt_launch_time.
struct LaunchTime {
  std::string name;
  double microseconds;
  std::int64_t bytes, flops;
  std::vector<std::string> onnxNodes;
  std::string number;
};

/// One run at a time of an engine's model; see smelt.h for what each call means.
class Context {
public:
  explicit Context(const Engine &engine) : Context(engine, SMELT_CONTEXT_OPTIONS_INIT) {}
  Context(const Engine &engine, const smelt_context_options &options)
      : called(engine.callbacks()) {
    check([&](smelt_error *error) {
      return smelt_context_create(engine.get(), &options, &handle, error);
    });
  }
  Context(Context &&other) noexcept
      : called(std::move(other.called)), handle(std::exchange(other.handle, nullptr)) {}
  Context &operator=(Context &&other) noexcept {
    std::swap(called, other.called);
    std::swap(handle, other.handle);
    return *this;
  }
  ~Context() { smelt_context_destroy(handle); }

  void setInputShape(const std::string &name, const Shape &shape) {
    check([&](smelt_error *error) {
      return smelt_context_set_input_shape(handle, name.c_str(), shape.data(), shape.size(), error);
    });
  }
  Shape outputShape(const std::string &name) {
    std::size_t rank = 0;
    Shape shape(16);
    auto read = [&](smelt_error *error) {
      return smelt_context_output_shape(handle, name.c_str(), shape.data(), shape.size(), &rank,
                                        error);
    };
    if (read(nullptr) == SMELT_USAGE && rank > shape.size())
      shape.resize(rank);
    check(read);
    shape.resize(rank);
    return shape;
  }
  void bindInput(const std::string &name, const Memory &memory) {
    check([&](smelt_error *error) {
      return smelt_context_bind_input(handle, name.c_str(), &memory.binding(), error);
    });
  }
  void bindOutput(const std::string &name, const Memory &memory) {
    check([&](smelt_error *error) {
      return smelt_context_bind_output(handle, name.c_str(), &memory.binding(), error);
    });
  }
  /// A tensor of another library, by DLPack; takes it over, also when this throws.
  void bindInput(const std::string &name, DLManagedTensorVersioned *tensor) {
    check([&](smelt_error *error) {
      return smelt_context_bind_input_dlpack(handle, name.c_str(), tensor, error);
    });
  }
  void bindOutput(const std::string &name, DLManagedTensorVersioned *tensor) {
    check([&](smelt_error *error) {
      return smelt_context_bind_output_dlpack(handle, name.c_str(), tensor, error);
    });
  }
  /// Device memory for an output of the current shapes, bound and given out by DLPack; whoever gets it
  /// calls its deleter.
  DLManagedTensorVersioned *allocateOutput(const std::string &name) {
    DLManagedTensorVersioned *tensor = nullptr;
    check([&](smelt_error *error) {
      return smelt_context_allocate_output_dlpack(handle, name.c_str(), &tensor, error);
    });
    return tensor;
  }
  std::size_t workspaceBytes() {
    std::size_t bytes = 0;
    check(
        [&](smelt_error *error) { return smelt_context_workspace_bytes(handle, &bytes, error); });
    return bytes;
  }
  void setWorkspace(void *memory, std::size_t bytes) {
    check([&](smelt_error *error) {
      return smelt_context_set_workspace(handle, memory, bytes, error);
    });
  }
  void prepare() {
    check([&](smelt_error *error) { return smelt_context_prepare(handle, error); });
  }
  /// `stream` is a CUstream or cudaStream_t. On the CPU both also throw what a callback throws.
  void enqueue(void *stream = nullptr) {
    checkRun([&](smelt_error *error) { return smelt_context_enqueue(handle, stream, error); });
  }
  void run(void *stream = nullptr) {
    checkRun([&](smelt_error *error) { return smelt_context_run(handle, stream, error); });
  }
  void wait() {
    check([&](smelt_error *error) { return smelt_context_wait(handle, error); });
  }
  /// Of a prepared context.
  std::vector<LaunchTime> profile(std::size_t repetitions) {
    std::vector<LaunchTime> launches;
    auto append = [](void *user, const smelt_launch_time *launch) {
      static_cast<std::vector<LaunchTime> *>(user)->push_back(
          {launch->name,
           launch->microseconds,
           launch->bytes,
           launch->flops,
           {launch->onnx_nodes, launch->onnx_nodes + launch->onnx_node_count},
           launch->number});
    };
    check([&](smelt_error *error) {
      return smelt_context_profile(handle, repetitions, append, &launches, error);
    });
    return launches;
  }
  smelt_context *get() const { return handle; }

private:
  /// A call that may call back.
  template <typename Call> void checkRun(Call call) {
    check([&](smelt_error *error) {
      smelt_code code = call(error);
      if (called)
        called->rethrow();
      return code;
    });
  }

  std::shared_ptr<Callbacks> called; ///< ends after the context
  smelt_context *handle = nullptr;
};

} // namespace smelt
