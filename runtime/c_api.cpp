#include "runtime/c_api.h"

#include "runtime/api_boundary.h"
#include "runtime/context.h"
#include "runtime/describe_ports.h"
#include "runtime/element_type.h"
#include "runtime/profile.h"

using smelt::Result;
using smelt::Status;
using smelt::StatusCode;
using smelt::api::describePort;
using smelt::api::guarded;
using smelt::api::PortDescriptions;
using smelt::api::readOptions;
using smelt::api::required;
using smelt::runtime::Binding;
using smelt::runtime::Context;
using smelt::runtime::ContextOptions;
using smelt::runtime::DeviceMemory;
using smelt::runtime::Driver;
using smelt::runtime::Engine;
using smelt::runtime::EngineOptions;
using smelt::runtime::LaunchTime;
using smelt::runtime::Location;
using smelt::runtime::Plan;
using smelt::runtime::Shape;
using smelt::runtime::SharedEngine;
namespace plan = smelt::plan;

struct smelt_engine {
  SharedEngine engine;
  PortDescriptions ports;
};

struct smelt_memory {
  DeviceMemory memory;
};

struct smelt_context {
  std::unique_ptr<Context> context;
};

namespace {

Result<EngineOptions> engineOptions(const smelt_engine_options *given) {
  SMELT_ASSIGN_OR_RETURN(
      smelt_engine_options read,
      readOptions(given, smelt_engine_options(SMELT_ENGINE_OPTIONS_INIT), "engine options"));
  EngineOptions options;
  options.device = read.device;
  if (read.allocator == nullptr)
    return options;
  SMELT_ASSIGN_OR_RETURN(
      smelt_allocator allocator,
      readOptions(read.allocator, smelt_allocator(SMELT_ALLOCATOR_INIT), "allocator"));
  if (allocator.allocate == nullptr || allocator.release == nullptr)
    return Status(StatusCode::kUsage, "an allocator needs both allocate and release");
  options.allocator.allocate = [allocator](uint64_t bytes) {
    return reinterpret_cast<CUdeviceptr>(allocator.allocate(allocator.user, bytes));
  };
  options.allocator.release = [allocator](CUdeviceptr address, uint64_t bytes) {
    try {
      allocator.release(allocator.user, reinterpret_cast<void *>(address), bytes);
    } catch (...) {
      return; // releases run in destructors and have nobody to report to
    }
  };
  return options;
}

Status createEngine(const Plan &read, const smelt_engine_options *options, smelt_engine **engine) {
  SMELT_ASSIGN_OR_RETURN(Driver driver, smelt::runtime::openDriver());
  return smelt::runtime::createEngine(read, std::move(driver), options, engine);
}

Result<Binding> readBinding(const smelt_binding *given) {
  SMELT_ASSIGN_OR_RETURN(smelt_binding read,
                         readOptions(given, smelt_binding(SMELT_BINDING_INIT), "binding"));
  if (smelt_element_bytes(read.element_type) == 0)
    return Status(StatusCode::kUsage,
                  smelt::joinText(read.element_type, " is not an element type"));
  if (read.location != SMELT_DEVICE && read.location != SMELT_HOST)
    return Status(StatusCode::kUsage, smelt::joinText(read.location, " is not a location"));
  Binding binding;
  binding.elementType = static_cast<plan::ElementType>(read.element_type);
  binding.location = read.location == SMELT_HOST ? Location::kHost : Location::kDevice;
  binding.data = read.data;
  binding.bytes = read.bytes;
  binding.capacity = read.capacity;
  return binding;
}

void report(const LaunchTime &launch, void (*receive)(void *, const smelt_launch_time *),
            void *user) {
  std::vector<const char *> nodes;
  for (const std::string &node : launch.planned->step->onnx_nodes)
    nodes.push_back(node.c_str());
  smelt_launch_time described = {sizeof(smelt_launch_time),
                                 launch.planned->launch->name.c_str(),
                                 launch.microseconds,
                                 launch.bytes,
                                 launch.flops,
                                 nodes.data(),
                                 nodes.size(),
                                 launch.planned->number.c_str()};
  receive(user, &described);
}

} // namespace

Status smelt::runtime::createEngine(const Plan &read, Driver driver,
                                    const smelt_engine_options *given, smelt_engine **engine) {
  SMELT_ASSIGN_OR_RETURN(EngineOptions options, engineOptions(given));
  SMELT_ASSIGN_OR_RETURN(SharedEngine created, Engine::create(read, std::move(driver), options));
  PortDescriptions ports(created->metadata());
  *engine = new smelt_engine{std::move(created), std::move(ports)};
  return {};
}

const char *smelt_version(void) { return smelt::kVersion; }

const char *smelt_code_name(smelt_code code) {
  switch (static_cast<int>(code)) { // which may be anything
#define SMELT_CODE(name)                                                                           \
  case name:                                                                                       \
    return #name;
    SMELT_CODE(SMELT_OK)
    SMELT_CODE(SMELT_RUN_FAILED)
    SMELT_CODE(SMELT_USAGE)
    SMELT_CODE(SMELT_INVALID_MODEL)
    SMELT_CODE(SMELT_RESOURCES)
    SMELT_CODE(SMELT_ENVIRONMENT)
    SMELT_CODE(SMELT_BAD_PLAN)
    SMELT_CODE(SMELT_INTERNAL)
#undef SMELT_CODE
  default:
    return "unknown code";
  }
}

size_t smelt_element_bytes(smelt_element_type type) {
  if (type < SMELT_F32 || type > SMELT_U2)
    return 0;
  return plan::elementBytes(static_cast<plan::ElementType>(type));
}

const char *smelt_element_type_name(smelt_element_type type) {
  if (type < SMELT_F32 || type > SMELT_U2)
    return "unknown type";
  return smelt::runtime::elementTypeName(static_cast<plan::ElementType>(type));
}

smelt_code smelt_engine_create(const char *path, const smelt_engine_options *options,
                               smelt_engine **engine, smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(path, "path", engine, "engine"));
    SMELT_ASSIGN_OR_RETURN(Plan read, smelt::runtime::readPlan(path));
    return createEngine(read, options, engine);
  });
}

smelt_code smelt_engine_create_from_memory(const void *data, size_t bytes,
                                           const smelt_engine_options *options,
                                           smelt_engine **engine, smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(data, "plan", engine, "engine"));
    std::span file(static_cast<const std::byte *>(data), bytes);
    SMELT_ASSIGN_OR_RETURN(Plan read, smelt::runtime::readPlan(file, "the plan in memory"));
    return createEngine(read, options, engine);
  });
}

void smelt_engine_destroy(smelt_engine *engine) { delete engine; }

const char *smelt_engine_model_name(const smelt_engine *engine) {
  return engine ? engine->engine->metadata().model_name.c_str() : "";
}

const char *smelt_engine_device_name(const smelt_engine *engine) {
  return engine ? engine->engine->device()->name().c_str() : "";
}

size_t smelt_engine_input_count(const smelt_engine *engine) {
  return engine ? engine->ports.inputs().size() : 0;
}

size_t smelt_engine_output_count(const smelt_engine *engine) {
  return engine ? engine->ports.outputs().size() : 0;
}

smelt_code smelt_engine_input(const smelt_engine *engine, size_t index, smelt_tensor_info *info,
                              smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(engine, "engine", info, "info"));
    return describePort(engine->ports.inputs(), index, info);
  });
}

smelt_code smelt_engine_output(const smelt_engine *engine, size_t index, smelt_tensor_info *info,
                               smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(engine, "engine", info, "info"));
    return describePort(engine->ports.outputs(), index, info);
  });
}

smelt_code smelt_memory_allocate(const smelt_engine *engine, size_t bytes, smelt_memory **memory,
                                 smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(engine, "engine", memory, "memory"));
    const Engine &owner = *engine->engine;
    SMELT_ASSIGN_OR_RETURN(auto current, smelt::runtime::CurrentContext::enter(*owner.device()));
    SMELT_ASSIGN_OR_RETURN(DeviceMemory allocated,
                           DeviceMemory::allocate(owner.device(), owner.allocator(),
                                                  std::max<size_t>(bytes, 1), "a tensor"));
    *memory = new smelt_memory{std::move(allocated)};
    return {};
  });
}

void *smelt_memory_address(const smelt_memory *memory) {
  return reinterpret_cast<void *>(memory->memory.address());
}

void smelt_memory_release(smelt_memory *memory) { delete memory; }

smelt_code smelt_context_create(const smelt_engine *engine, const smelt_context_options *given,
                                smelt_context **context, smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(engine, "engine", context, "context"));
    SMELT_ASSIGN_OR_RETURN(
        smelt_context_options read,
        readOptions(given, smelt_context_options(SMELT_CONTEXT_OPTIONS_INIT), "context options"));
    ContextOptions options;
    options.cachedShapes = read.cached_shapes;
    SMELT_ASSIGN_OR_RETURN(std::unique_ptr<Context> created,
                           Context::create(engine->engine, options));
    *context = new smelt_context{std::move(created)};
    return {};
  });
}

void smelt_context_destroy(smelt_context *context) { delete context; }

smelt_code smelt_context_set_input_shape(smelt_context *context, const char *name,
                                         const smelt_int64 *extents, size_t rank,
                                         smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(context, "context", name, "name"));
    if (rank > 0)
      SMELT_RETURN_IF_ERROR(required(extents, "extents"));
    return context->context->setInputShape(name, Shape(extents, extents + rank));
  });
}

smelt_code smelt_context_output_shape(smelt_context *context, const char *name,
                                      smelt_int64 *extents, size_t capacity, size_t *rank,
                                      smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(context, "context", name, "name", rank, "rank"));
    SMELT_ASSIGN_OR_RETURN(Shape shape, context->context->outputShape(name));
    *rank = shape.size();
    if (shape.size() > capacity)
      return Status(StatusCode::kUsage,
                    smelt::joinText("output '", name, "' has ", shape.size(),
                                    " dimensions, there is room for ", capacity));
    if (!shape.empty())
      SMELT_RETURN_IF_ERROR(required(extents, "extents"));
    std::copy(shape.begin(), shape.end(), extents);
    return {};
  });
}

smelt_code smelt_context_bind_input(smelt_context *context, const char *name,
                                    const smelt_binding *given, smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(context, "context", name, "name", given, "binding"));
    SMELT_ASSIGN_OR_RETURN(Binding binding, readBinding(given));
    return context->context->bindInput(name, binding);
  });
}

smelt_code smelt_context_bind_output(smelt_context *context, const char *name,
                                     const smelt_binding *given, smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(context, "context", name, "name", given, "binding"));
    SMELT_ASSIGN_OR_RETURN(Binding binding, readBinding(given));
    return context->context->bindOutput(name, binding);
  });
}

smelt_code smelt_context_workspace_bytes(smelt_context *context, size_t *bytes,
                                         smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(context, "context", bytes, "bytes"));
    SMELT_ASSIGN_OR_RETURN(*bytes, context->context->workspaceBytes());
    return {};
  });
}

smelt_code smelt_context_set_workspace(smelt_context *context, void *memory, size_t bytes,
                                       smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(context, "context"));
    return context->context->setWorkspace(memory, bytes);
  });
}

smelt_code smelt_context_prepare(smelt_context *context, smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(context, "context"));
    return context->context->prepare();
  });
}

smelt_code smelt_context_enqueue(smelt_context *context, void *stream, smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(context, "context"));
    return context->context->enqueue(static_cast<CUstream>(stream));
  });
}

smelt_code smelt_context_run(smelt_context *context, void *stream, smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(context, "context"));
    return context->context->run(static_cast<CUstream>(stream));
  });
}

smelt_code smelt_context_wait(smelt_context *context, smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(context, "context"));
    return context->context->wait();
  });
}

smelt_code smelt_context_profile(smelt_context *context, size_t repetitions,
                                 void (*on_launch)(void *user, const smelt_launch_time *launch),
                                 void *user, smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(context, "context"));
    SMELT_RETURN_IF_ERROR(required(on_launch != nullptr, "on_launch"));
    SMELT_ASSIGN_OR_RETURN(std::vector<LaunchTime> launches,
                           smelt::runtime::profileLaunches(*context->context, repetitions));
    for (const LaunchTime &launch : launches)
      report(launch, on_launch, user);
    return {};
  });
}
