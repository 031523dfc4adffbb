// Weights in the layouts that kernel templates ask for (ir/weight_layout.h).
#pragma once

#include "ir/weight_layout.h"

#include "mlir/IR/Builders.h"

namespace smelt::passes {

/// Weights as a kernel reads them.
struct LaidOutWeights {
  /// A constant view of one weight, or all of them joined: what the plan stores, once for all
  /// kernels that ask for the same.
  mlir::Value stored;
  /// What each weight was, as a view of `stored`.
  llvm::SmallVector<mlir::Value> weights;
  /// The views' ops, which belong into the kernel.
  llvm::SmallVector<mlir::Operation *> views;
};

/// Lays out `weights`, of one type and constant, anew; `layout` is not WeightLayout::asGiven.
LaidOutWeights layOutWeights(mlir::OpBuilder &builder, mlir::Location location,
                             mlir::ValueRange weights, WeightLayout layout);

} // namespace smelt::passes
