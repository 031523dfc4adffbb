// Values that follow from constants alone: computed while importing, where a graph's structure
// depends on them.
#pragma once

#include "ir/interpret/host_tensor.h"
#include "mlir/IR/Value.h"

#include "llvm/ADT/DenseSet.h"

namespace smelt {
class WeightStore;
}

namespace smelt::frontend {

class GraphBuilder;

/// Tensors of at most so many elements are computed where not told otherwise: conditions, counts.
constexpr int64_t kFewElements = 4096;

using ValueSet = llvm::SmallDenseSet<mlir::Value, 4>;

/// The value, where it follows from constants, and from weights where `weights` is given, by not too
/// many ops over tensors of at most `mostElements`; none where it does not, as where it is computed from one of `varying`.
std::optional<HostTensor> constantValue(mlir::Value value, WeightStore *weights = nullptr,
                                        int64_t mostElements = kFewElements,
                                        const ValueSet &varying = {});

/// The one element of a bool that follows from constants.
std::optional<bool> constantBool(mlir::Value value);

/// Folds what a loop carries from one iteration to the next, which keeps chains of constants short. What does not
/// fold is remembered for one iteration: nobody has to search beyond it to see that what comes of it does not either.
class CarriedConstants {
public:
  explicit CarriedConstants(GraphBuilder &build) : build(build) {}

  /// A small value that follows from constants as a constant; others as they are.
  mlir::Value fold(mlir::Value value);
  /// What was folded since the last call is what the next iteration reads.
  void endIteration() {
    varying = std::move(next);
    next.clear();
  }

private:
  GraphBuilder &build;
  ValueSet varying, next;
};

} // namespace smelt::frontend
