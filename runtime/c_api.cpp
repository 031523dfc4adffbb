// smelt.h: names, engines and memory. What an engine does is its own (engine_interface.h).
#include "runtime/c_api.h"

#include "runtime/element_type.h"
#include "runtime/engine_interface.h"

using smelt::Status;
using smelt::api::forwarded;
using smelt::api::guarded;
using smelt::api::required;
using smelt::runtime::Driver;
using smelt::runtime::Plan;
namespace plan = smelt::plan;

namespace {

Status createEngine(const Plan &read, const smelt_engine_options *options, smelt_engine **engine) {
  SMELT_ASSIGN_OR_RETURN(Driver driver, smelt::runtime::openDriver());
  return smelt::runtime::createEngine(read, std::move(driver), options, engine);
}

} // namespace

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
    SMELT_ASSIGN_OR_RETURN(auto progress, smelt::api::readProgress(options));
    SMELT_ASSIGN_OR_RETURN(Plan read, smelt::runtime::readPlan(path, progress));
    return createEngine(read, options, engine);
  });
}

smelt_code smelt_engine_create_from_memory(const void *data, size_t bytes,
                                           const smelt_engine_options *options,
                                           smelt_engine **engine, smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(data, "plan", engine, "engine"));
    std::span file(static_cast<const std::byte *>(data), bytes);
    SMELT_ASSIGN_OR_RETURN(auto progress, smelt::api::readProgress(options));
    SMELT_ASSIGN_OR_RETURN(Plan read,
                           smelt::runtime::readPlan(file, "the plan in memory", progress));
    return createEngine(read, options, engine);
  });
}

void smelt_engine_destroy(smelt_engine *engine) { delete engine; }

const char *smelt_engine_model_name(const smelt_engine *engine) {
  return engine ? engine->modelName() : "";
}

const char *smelt_engine_device_name(const smelt_engine *engine) {
  return engine ? engine->deviceName() : "";
}

size_t smelt_engine_input_count(const smelt_engine *engine) {
  return engine ? engine->inputCount() : 0;
}

size_t smelt_engine_output_count(const smelt_engine *engine) {
  return engine ? engine->outputCount() : 0;
}

smelt_code smelt_engine_input(const smelt_engine *engine, size_t index, smelt_tensor_info *info,
                              smelt_error *error) {
  return forwarded(error, engine, "engine", [&] { return engine->input(index, info, error); });
}

smelt_code smelt_engine_output(const smelt_engine *engine, size_t index, smelt_tensor_info *info,
                               smelt_error *error) {
  return forwarded(error, engine, "engine", [&] { return engine->output(index, info, error); });
}

size_t smelt_engine_weight_count(const smelt_engine *engine) {
  return engine ? engine->weightCount() : 0;
}

smelt_code smelt_engine_weight(const smelt_engine *engine, size_t index, smelt_weight_info *info,
                               smelt_error *error) {
  return forwarded(error, engine, "engine", [&] { return engine->weight(index, info, error); });
}

smelt_code smelt_engine_update_weight(smelt_engine *engine, const char *name,
                                      const smelt_binding *values, void *stream,
                                      smelt_error *error) {
  return forwarded(error, engine, "engine",
                   [&] { return engine->updateWeight(name, values, stream, error); });
}

smelt_code smelt_memory_allocate(const smelt_engine *engine, size_t bytes, smelt_memory **memory,
                                 smelt_error *error) {
  return forwarded(error, engine, "engine",
                   [&] { return engine->allocateMemory(bytes, memory, error); });
}

void *smelt_memory_address(const smelt_memory *memory) { return memory->address(); }

void smelt_memory_release(smelt_memory *memory) { delete memory; }
