// What stands behind the handles of smelt.h, whoever made them: the runtime, whose engines run plans on
// a GPU, or the compiler's library, whose engines run models on the CPU. The two libraries may carry
// different C++ libraries along, so that nothing crosses but calls of these methods: they take and give
// C's types, and no exception leaves them. Both libraries are of one version, which is checked where the
// compiler's makes an engine.
//
// Methods mean what the function of their name in smelt.h means; handles are not null.
#pragma once

#include "runtime/smelt.h"

struct smelt_memory {
  virtual ~smelt_memory() = default;
  virtual void *address() const noexcept = 0;
};

struct smelt_context {
  virtual ~smelt_context() = default;
  virtual smelt_code setInputShape(const char *name, const smelt_int64 *extents, size_t rank,
                                   smelt_error *error) noexcept = 0;
  virtual smelt_code outputShape(const char *name, smelt_int64 *extents, size_t capacity,
                                 size_t *rank, smelt_error *error) noexcept = 0;
  virtual smelt_code bindInput(const char *name, const smelt_binding *binding,
                               smelt_error *error) noexcept = 0;
  virtual smelt_code bindOutput(const char *name, const smelt_binding *binding,
                                smelt_error *error) noexcept = 0;
  virtual smelt_code workspaceBytes(size_t *bytes, smelt_error *error) noexcept = 0;
  virtual smelt_code setWorkspace(void *memory, size_t bytes, smelt_error *error) noexcept = 0;
  virtual smelt_code prepare(smelt_error *error) noexcept = 0;
  virtual smelt_code enqueue(void *stream, smelt_error *error) noexcept = 0;
  virtual smelt_code run(void *stream, smelt_error *error) noexcept = 0;
  virtual smelt_code wait(smelt_error *error) noexcept = 0;
  virtual smelt_code profile(size_t repetitions,
                             void (*onLaunch)(void *user, const smelt_launch_time *launch),
                             void *user, smelt_error *error) noexcept = 0;
  /// Takes the tensor over, whether it fails or not.
  virtual smelt_code bindDlpack(bool isInput, const char *name, DLManagedTensorVersioned *tensor,
                                smelt_error *error) noexcept = 0;
  virtual smelt_code allocateOutputDlpack(const char *name, DLManagedTensorVersioned **tensor,
                                          smelt_error *error) noexcept = 0;
};

struct smelt_engine {
  virtual ~smelt_engine() = default;
  virtual const char *modelName() const noexcept = 0;
  virtual const char *deviceName() const noexcept = 0;
  virtual size_t inputCount() const noexcept = 0;
  virtual size_t outputCount() const noexcept = 0;
  virtual smelt_code input(size_t index, smelt_tensor_info *info,
                           smelt_error *error) const noexcept = 0;
  virtual smelt_code output(size_t index, smelt_tensor_info *info,
                            smelt_error *error) const noexcept = 0;
  virtual size_t weightCount() const noexcept = 0;
  virtual smelt_code weight(size_t index, smelt_weight_info *info,
                            smelt_error *error) const noexcept = 0;
  virtual smelt_code updateWeight(const char *name, const smelt_binding *values, void *stream,
                                  smelt_error *error) noexcept = 0;
  virtual smelt_code allocateMemory(size_t bytes, smelt_memory **memory,
                                    smelt_error *error) const noexcept = 0;
  virtual smelt_code createContext(const smelt_context_options *options, smelt_context **context,
                                   smelt_error *error) const noexcept = 0;
  /// Whether it runs a plan on a GPU: only the runtime's own do, which share weights.
  virtual bool runsPlan() const noexcept = 0;
};
