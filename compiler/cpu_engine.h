// Engines of smelt.h that run a model on the CPU.
#pragma once

#include "compiler/cpu_model.h"
#include "runtime/api_engine.h"

namespace smelt::compiler {

class CpuEngine : public api::ApiEngine {
public:
  explicit CpuEngine(std::shared_ptr<CpuModel> model);

  const char *deviceName() const noexcept override { return name.c_str(); }
  smelt_code updateWeight(const char *name, const smelt_binding *values, void *stream,
                          smelt_error *error) noexcept override;
  smelt_code allocateMemory(size_t bytes, smelt_memory **memory,
                            smelt_error *error) const noexcept override;
  smelt_code createContext(const smelt_context_options *options, smelt_context **context,
                           smelt_error *error) const noexcept override;
  bool runsPlan() const noexcept override { return false; }

private:
  std::shared_ptr<CpuModel> model;
  std::string name; ///< of the device
};

} // namespace smelt::compiler
