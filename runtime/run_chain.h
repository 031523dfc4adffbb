// How long runs take that follow each other as the kernels of a model do; for choosing between kernels.
#pragma once

#include "runtime/context.h"

#include <memory>
#include <span>

namespace smelt::runtime {

/// Runs of prepared contexts of one device, one behind the other in a CUDA graph, so that each kernel begins as early as
/// it does in a model: before the one before it has ended, where both allow it.
class RunChain {
public:
  /// The contexts must outlive the chain, and no run of theirs change its shapes or addresses.
  static Result<std::unique_ptr<RunChain>> create(std::span<Context *const> contexts);
  ~RunChain();
  RunChain(const RunChain &) = delete;

  /// Microseconds for each run, the mean over the chain's. Waits for all of them.
  Result<double> time(CUstream stream) const;

private:
  explicit RunChain(const Engine &engine) : engine(engine) {}
  Status build(std::span<Context *const> contexts);

  const Engine &engine; ///< of the first context
  size_t runs = 0;
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
};

} // namespace smelt::runtime
