// The weights of a plan: the constant tensors that kernels read from memory.
#pragma once

#include "codegen/weight_parts.h"
#include "codegen/write_plan.h"
#include "ir/interpret/interpret.h"

#include "llvm/ADT/MapVector.h"

namespace smelt::codegen {

/// Numbers the constant tensors that are inputs of fusions. A weight of the model is taken as it
/// lies in its file; the elements of one that only moves others (a concatenation, a transposition, ...)
/// are copied, and what computes is evaluated by the interpreter, both while the plan is written.
class PlanWeights {
public:
  explicit PlanWeights(WeightStore &store) : store(store) {}

  /// Index of the weight that holds `value`, a constant, a weight or a weight expression.
  uint32_t index(mlir::Value value);

  /// What the weights hold, in order.
  llvm::SmallVector<mlir::Value> values() const {
    return llvm::map_to_vector(weights, [](const auto &weight) { return weight.first; });
  }

  /// One entry a weight, in order. The module and the store must outlive them.
  mlir::FailureOr<std::vector<WeightBytes>> collect(plan::MetadataT &metadata);

private:
  mlir::FailureOr<WeightBytes> bytesOf(mlir::Value value);
  std::span<std::byte> room(size_t bytes); ///< in `moved`
  Status move(mlir::Value value, const WeightParts &parts, const ByteSink &sink);
  Status compute(mlir::Value value, const ByteSink &sink);

  WeightStore &store;
  KnownValues last; // the weight expression evaluated last: the next may start from it
  std::vector<std::byte>
      moved; // as long as the longest so far: fresh memory costs as much as the copies
  llvm::MapVector<mlir::Value, uint32_t> weights;
};

} // namespace smelt::codegen
