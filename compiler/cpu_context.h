// One run of a model on the CPU at a time: shapes and bindings, as runtime::Context has them on a GPU.
#pragma once

#include "compiler/cpu_model.h"
#include "runtime/bindings.h"
#include "runtime/context_options.h"
#include "runtime/shape_program.h"

#include <atomic>

namespace smelt::compiler {

/// Calls mean what those of runtime::Context mean, and are refused where those are. Memory is the host's,
/// wherever a binding says that it lies; a run is over when its call returns. Several threads at once are
/// noticed and refused.
class CpuContext {
public:
  using Stream = void *; ///< null: there are none

  static Result<std::unique_ptr<CpuContext>> create(std::shared_ptr<CpuModel> model,
                                                    runtime::ContextOptions options);

  const plan::MetadataT &metadata() const { return model->metadata(); }
  const runtime::Logger &logger() const {
    return options.logger ? *options.logger : model->logger();
  }

  Status setInputShape(const std::string &name, const runtime::Shape &shape);
  Status bindInput(const std::string &name, const runtime::Binding &binding);
  Status bindOutput(const std::string &name, const runtime::Binding &binding);
  Result<runtime::Shape> outputShape(const std::string &name);
  /// 0: the interpreter takes what it needs as it goes.
  Result<uint64_t> workspaceBytes();
  /// Is checked, and not used.
  Status setWorkspace(void *data, uint64_t bytes);
  Status prepare();
  Status enqueue(Stream stream);
  Status run(Stream stream);
  Status wait();

private:
  CpuContext(std::shared_ptr<CpuModel> model, runtime::ContextOptions options);
  Status bind(bool isInput, const std::string &name, const runtime::Binding &binding);
  void forgetSizes();
  Status solve();
  Status prepareTurn();
  Status checkBindings();
  Status enqueueTurn(Stream stream);

  std::shared_ptr<CpuModel> model;
  runtime::ContextOptions options;
  runtime::Bindings bindings;
  std::optional<runtime::ShapeValues> values; ///< of the current shapes, once solved
  runtime::MemoryRange workspace;             ///< of the caller's
  bool isPrepared = false;                    ///< for the current shapes
  std::atomic_flag busy;
};

} // namespace smelt::compiler
