// smelt_engine_weight*: what the model's weights are on the device, and new values for them.
#include "runtime/c_api.h"

#include "runtime/update_weight.h"

using smelt::Status;
using smelt::api::guarded;
using smelt::api::loggedAs;
using smelt::api::readBinding;
using smelt::api::required;
using smelt::runtime::Binding;

size_t smelt_engine_weight_count(const smelt_engine *engine) {
  return engine ? engine->weights.size() : 0;
}

smelt_code smelt_engine_weight(const smelt_engine *engine, size_t index, smelt_weight_info *info,
                               smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(engine, "engine", info, "info"));
    return engine->weights.describe(index, info);
  });
}

smelt_code smelt_engine_update_weight(smelt_engine *engine, const char *name,
                                      const smelt_binding *values, void *stream,
                                      smelt_error *error) {
  return guarded(error, [&]() -> Status {
    SMELT_RETURN_IF_ERROR(required(engine, "engine", name, "name", values, "values"));
    SMELT_ASSIGN_OR_RETURN(Binding binding, readBinding(values));
    return loggedAs(engine->engine->logger(),
                    smelt::runtime::updateWeight(*engine->engine, name, binding,
                                                 static_cast<CUstream>(stream)));
  });
}
