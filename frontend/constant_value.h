// Values that follow from constants alone: computed while importing, where a graph's structure
// depends on them.
#pragma once

#include "ir/interpret/host_tensor.h"
#include "mlir/IR/Value.h"

namespace smelt {
class WeightStore;
}

namespace smelt::frontend {

class GraphBuilder;

/// Tensors of at most so many elements are computed where not told otherwise: conditions, counts.
constexpr int64_t kFewElements = 4096;

/// The value, where it follows from constants, and from weights where `weights` is given, by not too
/// many ops over tensors of at most `mostElements`; none where it does not.
std::optional<HostTensor> constantValue(mlir::Value value, WeightStore *weights = nullptr,
                                        int64_t mostElements = kFewElements);

/// The one element of a bool that follows from constants.
std::optional<bool> constantBool(mlir::Value value);

/// A small value that follows from constants as a constant; others as they are. Keeps chains short
/// that a loop makes.
mlir::Value foldConstant(GraphBuilder &build, mlir::Value value);

} // namespace smelt::frontend
