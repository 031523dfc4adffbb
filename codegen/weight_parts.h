// Where the elements of a model's weights lie in a weight of a plan.
#pragma once

#include "ir/dialect.h"
#include "runtime/plan_format.h"

namespace smelt::codegen {

/// Elements of one `smelt.weight` that lie in another tensor, as loops over offsets in elements of both,
/// row-major (plan::WeightPart).
struct WeightPart {
  WeightOp source;
  uint64_t sourceOffset = 0;
  uint64_t targetOffset = 0;
  llvm::SmallVector<plan::CopyLoop> loops; ///< the one of the longest steps in the target first
};

/// What of a weight expression are elements of weights, moved and perhaps cast once; the rest is
/// constant.
struct WeightParts {
  llvm::SmallVector<WeightPart> parts;
  /// An op that computes, or moves elements in a way that loops do not say: then there are no parts.
  mlir::Operation *obstacle = nullptr;
};

WeightParts weightPartsOf(mlir::Value value);

} // namespace smelt::codegen
