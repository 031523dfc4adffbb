// smelt_context_*: runs.
#include "runtime/api_boundary.h"
#include "runtime/engine_interface.h"

using smelt::api::forwarded;

smelt_code smelt_context_create(const smelt_engine *engine, const smelt_context_options *options,
                                smelt_context **context, smelt_error *error) {
  return forwarded(error, engine, "engine",
                   [&] { return engine->createContext(options, context, error); });
}

void smelt_context_destroy(smelt_context *context) { delete context; }

smelt_code smelt_context_set_input_shape(smelt_context *context, const char *name,
                                         const smelt_int64 *extents, size_t rank,
                                         smelt_error *error) {
  return forwarded(error, context, "context",
                   [&] { return context->setInputShape(name, extents, rank, error); });
}

smelt_code smelt_context_output_shape(smelt_context *context, const char *name,
                                      smelt_int64 *extents, size_t capacity, size_t *rank,
                                      smelt_error *error) {
  return forwarded(error, context, "context",
                   [&] { return context->outputShape(name, extents, capacity, rank, error); });
}

smelt_code smelt_context_bind_input(smelt_context *context, const char *name,
                                    const smelt_binding *binding, smelt_error *error) {
  return forwarded(error, context, "context",
                   [&] { return context->bindInput(name, binding, error); });
}

smelt_code smelt_context_bind_output(smelt_context *context, const char *name,
                                     const smelt_binding *binding, smelt_error *error) {
  return forwarded(error, context, "context",
                   [&] { return context->bindOutput(name, binding, error); });
}

smelt_code smelt_context_workspace_bytes(smelt_context *context, size_t *bytes,
                                         smelt_error *error) {
  return forwarded(error, context, "context",
                   [&] { return context->workspaceBytes(bytes, error); });
}

smelt_code smelt_context_set_workspace(smelt_context *context, void *memory, size_t bytes,
                                       smelt_error *error) {
  return forwarded(error, context, "context",
                   [&] { return context->setWorkspace(memory, bytes, error); });
}

smelt_code smelt_context_prepare(smelt_context *context, smelt_error *error) {
  return forwarded(error, context, "context", [&] { return context->prepare(error); });
}

smelt_code smelt_context_enqueue(smelt_context *context, void *stream, smelt_error *error) {
  return forwarded(error, context, "context", [&] { return context->enqueue(stream, error); });
}

smelt_code smelt_context_run(smelt_context *context, void *stream, smelt_error *error) {
  return forwarded(error, context, "context", [&] { return context->run(stream, error); });
}

smelt_code smelt_context_wait(smelt_context *context, smelt_error *error) {
  return forwarded(error, context, "context", [&] { return context->wait(error); });
}

smelt_code smelt_context_profile(smelt_context *context, size_t repetitions,
                                 void (*on_launch)(void *user, const smelt_launch_time *launch),
                                 void *user, smelt_error *error) {
  return forwarded(error, context, "context",
                   [&] { return context->profile(repetitions, on_launch, user, error); });
}
