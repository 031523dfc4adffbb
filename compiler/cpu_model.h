// A model in the interpreter, as an engine of smelt.h has it: what its contexts share.
#pragma once

#include "compiler/run_model.h"
#include "runtime/binding.h"
#include "runtime/logger.h"

#include <memory>
#include <mutex>

namespace smelt::compiler {

/// Fails with kUsage where the stream is not null.
Status refuseStream(const void *stream);

/// Any thread may use one at any time: runs and updates of weights take turns, since each run uses all
/// cores.
class CpuModel {
public:
  /// `model` as it is to run. Fails with kInvalidModel where nobody could give a size its value.
  static Result<std::shared_ptr<CpuModel>> create(std::unique_ptr<Model> model,
                                                  CpuArithmetic arithmetic,
                                                  ProgressHandler progress, runtime::Logger logger);

  /// Inputs, outputs, sizes, guards and initializers, as a plan of the model has them.
  const plan::MetadataT &metadata() const { return described; }
  const runtime::Logger &logger() const { return log; }

  /// As ModelRunner::run. Told to the progress handler as the phase "run".
  Result<std::vector<HostTensor>> run(std::span<const TensorView> inputs);

  /// Later runs see the new values. Fails as runtime::findUpdated does.
  Status updateWeight(const std::string &name, const runtime::Binding &values);

private:
  CpuModel(std::unique_ptr<Model> model, CpuArithmetic arithmetic, ProgressHandler progress,
           runtime::Logger logger);
  Status describe();
  void describeWeights();

  std::mutex mutex; ///< of what follows
  std::unique_ptr<Model> model;
  CpuArithmetic arithmetic;
  std::optional<ModelRunner> runner;
  ProgressHandler progress; ///< or none

  plan::MetadataT described;
  runtime::Logger log;
};

} // namespace smelt::compiler
