// Engines of smelt.h that run a plan on a GPU.
#pragma once

#include "runtime/api_engine.h"
#include "runtime/engine.h"

namespace smelt::runtime {

class GpuEngine : public api::ApiEngine {
public:
  explicit GpuEngine(SharedEngine engine)
      : ApiEngine(engine->metadata()), engine(std::move(engine)) {}

  const SharedEngine &planEngine() const { return engine; }

  const char *deviceName() const noexcept override { return engine->device()->name().c_str(); }
  smelt_code updateWeight(const char *name, const smelt_binding *values, void *stream,
                          smelt_error *error) noexcept override;
  smelt_code allocateMemory(size_t bytes, smelt_memory **memory,
                            smelt_error *error) const noexcept override;
  smelt_code createContext(const smelt_context_options *options, smelt_context **context,
                           smelt_error *error) const noexcept override;
  bool runsPlan() const noexcept override { return true; }

private:
  SharedEngine engine;
};

} // namespace smelt::runtime
