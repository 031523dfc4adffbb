#include "runtime/c_api.h"

#include "runtime/api_boundary.h"
#include "runtime/context.h"
#include "runtime/element_type.h"

using smelt::Result;
using smelt::Status;
using smelt::StatusCode;
using smelt::api::guarded;
using smelt::api::readOptions;
using smelt::api::required;
using smelt::runtime::Binding;
using smelt::runtime::Context;
using smelt::runtime::ContextOptions;
using smelt::runtime::Driver;
using smelt::runtime::Engine;
using smelt::runtime::EngineOptions;
using smelt::runtime::Location;
using smelt::runtime::Plan;
using smelt::runtime::Shape;
using smelt::runtime::SharedEngine;
namespace plan = smelt::plan;

struct smelt_engine {
  SharedEngine engine;
  std::vector<std::vector<smelt_int64>> inputExtents, outputExtents;
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

using Tensors = std::vector<std::unique_ptr<plan::TensorT>>;

/// The extents that are the same for every shape, and -1 for the others.
std::vector<std::vector<smelt_int64>> fixedExtents(const plan::MetadataT &metadata,
                                                   const Tensors &tensors) {
  std::vector<std::vector<smelt_int64>> extents;
  for (const auto &tensor : tensors) {
    extents.emplace_back();
    for (uint32_t dim : tensor->dims) {
      const auto &program = metadata.dims[dim]->program;
      bool isFixed = program.size() == 1 && program[0].opcode() == plan::DimOpcode::constant;
      extents.back().push_back(isFixed ? program[0].operand() : -1);
    }
  }
  return extents;
}

/// The input that an output takes over; -1: none.
smelt_int64 aliasOf(const plan::TensorT &tensor) {
  return tensor.alias == plan::kNone ? -1 : static_cast<smelt_int64>(tensor.alias);
}

/// The axis along which rows of a tensor may lie apart; -1: they lie behind each other.
smelt_int64 capacityAxisOf(const plan::MetadataT &metadata, const plan::TensorT &tensor) {
  for (const auto &output : metadata.outputs) {
    bool isMeant = output.get() == &tensor || (output->alias < metadata.inputs.size() &&
                                               metadata.inputs[output->alias].get() == &tensor);
    if (isMeant && output->capacity != plan::kNone)
      return output->capacity_axis;
  }
  return -1;
}

Status describe(const plan::MetadataT &metadata, const Tensors &tensors,
                const std::vector<std::vector<smelt_int64>> &extents, size_t index,
                smelt_tensor_info *info) {
  if (index >= tensors.size())
    return Status(StatusCode::kUsage,
                  smelt::joinText("there is no tensor ", index, "; there are ", tensors.size()));
  if (info->struct_size < offsetof(smelt_tensor_info, alias))
    return Status(StatusCode::kUsage, "initialise info with SMELT_TENSOR_INFO_INIT");
  smelt_tensor_info described = SMELT_TENSOR_INFO_INIT;
  described.struct_size = info->struct_size;
  described.name = tensors[index]->name.c_str();
  described.element_type = static_cast<int>(tensors[index]->element_type);
  described.rank = extents[index].size();
  described.extents = extents[index].data();
  described.alias = aliasOf(*tensors[index]);
  described.capacity_axis = capacityAxisOf(metadata, *tensors[index]);
  std::memcpy(info, &described, std::min(info->struct_size, sizeof(described)));
  return {};
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

} // namespace

Status smelt::runtime::createEngine(const Plan &read, Driver driver,
                                    const smelt_engine_options *given, smelt_engine **engine) {
  SMELT_ASSIGN_OR_RETURN(EngineOptions options, engineOptions(given));
  SMELT_ASSIGN_OR_RETURN(SharedEngine created, Engine::create(read, std::move(driver), options));
  const plan::MetadataT &metadata = created->metadata();
  auto inputs = fixedExtents(metadata, metadata.inputs);
  auto outputs = fixedExtents(metadata, metadata.outputs);
  *engine = new smelt_engine{std::move(created), std::move(inputs), std::move(outputs)};
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
  return engine ? engine->inputExtents.size() : 0;
}

size_t smelt_engine_output_count(const smelt_engine *engine) {
  return engine ? engine->outputExtents.size() : 0;
}

smelt_code smelt_engine_input(const smelt_engine *engine, size_t index, smelt_tensor_info *info,
                              smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(engine, "engine", info, "info"));
    return describe(engine->engine->metadata(), engine->engine->metadata().inputs,
                    engine->inputExtents, index, info);
  });
}

smelt_code smelt_engine_output(const smelt_engine *engine, size_t index, smelt_tensor_info *info,
                               smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(engine, "engine", info, "info"));
    return describe(engine->engine->metadata(), engine->engine->metadata().outputs,
                    engine->outputExtents, index, info);
  });
}

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
