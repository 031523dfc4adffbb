// smelt_context_*: runs.
#include "runtime/c_api.h"

#include "runtime/profile.h"

using smelt::Result;
using smelt::Status;
using smelt::StatusCode;
using smelt::api::guarded;
using smelt::api::loggedAs;
using smelt::api::readBinding;
using smelt::api::readLogger;
using smelt::api::readOptions;
using smelt::api::required;
using smelt::runtime::Binding;
using smelt::runtime::Context;
using smelt::runtime::ContextOptions;
using smelt::runtime::LaunchTime;
using smelt::runtime::Logger;
using smelt::runtime::Shape;

namespace {

/// Calls `body` with the context; its logger hears of a failure.
template <typename Body>
smelt_code withContext(smelt_context *context, smelt_error *error, Body body) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(context, "context"));
    return loggedAs(context->context->logger(), body(*context->context));
  });
}

void report(const LaunchTime &launch, void (*receive)(void *, const smelt_launch_time *),
            void *user) {
  std::vector<const char *> nodes;
  nodes.reserve(launch.planned->step->onnx_nodes.size());
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

smelt_code smelt_context_create(const smelt_engine *engine, const smelt_context_options *given,
                                smelt_context **context, smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(engine, "engine", context, "context"));
    SMELT_ASSIGN_OR_RETURN(
        smelt_context_options read,
        readOptions(given, smelt_context_options(SMELT_CONTEXT_OPTIONS_INIT), "context options"));
    ContextOptions options;
    options.cachedShapes = read.cached_shapes;
    if (read.logger != nullptr) {
      SMELT_ASSIGN_OR_RETURN(options.logger, readLogger(*read.logger));
    }
    Result<std::unique_ptr<Context>> created = Context::create(engine->engine, options);
    const Logger &logger = options.logger ? *options.logger : engine->engine->logger();
    SMELT_RETURN_IF_ERROR(loggedAs(logger, created.status()));
    *context = new smelt_context{std::move(*created)};
    return {};
  });
}

void smelt_context_destroy(smelt_context *context) { delete context; }

smelt_code smelt_context_set_input_shape(smelt_context *context, const char *name,
                                         const smelt_int64 *extents, size_t rank,
                                         smelt_error *error) {
  return withContext(context, error, [&](Context &used) -> Status {
    SMELT_RETURN_IF_ERROR(required(name, "name"));
    if (rank > 0)
      SMELT_RETURN_IF_ERROR(required(extents, "extents"));
    return used.setInputShape(name, Shape(extents, extents + rank));
  });
}

smelt_code smelt_context_output_shape(smelt_context *context, const char *name,
                                      smelt_int64 *extents, size_t capacity, size_t *rank,
                                      smelt_error *error) {
  return withContext(context, error, [&](Context &used) -> Status {
    SMELT_RETURN_IF_ERROR(required(name, "name", rank, "rank"));
    SMELT_ASSIGN_OR_RETURN(Shape shape, used.outputShape(name));
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
  return withContext(context, error, [&](Context &used) -> Status {
    SMELT_RETURN_IF_ERROR(required(name, "name", given, "binding"));
    SMELT_ASSIGN_OR_RETURN(Binding binding, readBinding(given));
    return used.bindInput(name, binding);
  });
}

smelt_code smelt_context_bind_output(smelt_context *context, const char *name,
                                     const smelt_binding *given, smelt_error *error) {
  return withContext(context, error, [&](Context &used) -> Status {
    SMELT_RETURN_IF_ERROR(required(name, "name", given, "binding"));
    SMELT_ASSIGN_OR_RETURN(Binding binding, readBinding(given));
    return used.bindOutput(name, binding);
  });
}

smelt_code smelt_context_workspace_bytes(smelt_context *context, size_t *bytes,
                                         smelt_error *error) {
  return withContext(context, error, [&](Context &used) -> Status {
    SMELT_RETURN_IF_ERROR(required(bytes, "bytes"));
    SMELT_ASSIGN_OR_RETURN(*bytes, used.workspaceBytes());
    return {};
  });
}

smelt_code smelt_context_set_workspace(smelt_context *context, void *memory, size_t bytes,
                                       smelt_error *error) {
  return withContext(context, error,
                     [&](Context &used) -> Status { return used.setWorkspace(memory, bytes); });
}

smelt_code smelt_context_prepare(smelt_context *context, smelt_error *error) {
  return withContext(context, error, [&](Context &used) -> Status { return used.prepare(); });
}

smelt_code smelt_context_enqueue(smelt_context *context, void *stream, smelt_error *error) {
  return withContext(context, error, [&](Context &used) -> Status {
    return used.enqueue(static_cast<CUstream>(stream));
  });
}

smelt_code smelt_context_run(smelt_context *context, void *stream, smelt_error *error) {
  return withContext(context, error, [&](Context &used) -> Status {
    return used.run(static_cast<CUstream>(stream));
  });
}

smelt_code smelt_context_wait(smelt_context *context, smelt_error *error) {
  return withContext(context, error, [&](Context &used) -> Status { return used.wait(); });
}

smelt_code smelt_context_profile(smelt_context *context, size_t repetitions,
                                 void (*on_launch)(void *user, const smelt_launch_time *launch),
                                 void *user, smelt_error *error) {
  return withContext(context, error, [&](Context &used) -> Status {
    SMELT_RETURN_IF_ERROR(required(on_launch != nullptr, "on_launch"));
    SMELT_ASSIGN_OR_RETURN(std::vector<LaunchTime> launches,
                           smelt::runtime::profileLaunches(used, repetitions));
    for (const LaunchTime &launch : launches)
      report(launch, on_launch, user);
    return {};
  });
}
