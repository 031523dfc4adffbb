// Does a pass change what a function computes? Both are interpreted in double precision on random
// inputs.
#pragma once

#include "ir/weights.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace smelt {

/// Sizes for every symbol of a function: `first`, then each next symbol `step` larger.
struct SizeChoice {
  int64_t first, step;
};

struct Comparison {
  /// The function before the pass could be interpreted at these sizes.
  bool ran = false;
  /// Largest ||after - before|| / ||before|| of a result; infinite where shapes, infinities or NaN
  /// differ.
  double error = 0;
  std::string problem;
};

/// Interprets both functions, which have the same arguments, on the same inputs.
Comparison compareFunctions(mlir::func::FuncOp before, mlir::func::FuncOp after,
                            WeightStore &weights, SizeChoice sizes, uint64_t seed);

/// Whether `after` computes what `before` does, in the first function of each, with weights drawn by `seed`, but for the order of
/// sums; else what differs, and the program.
testing::AssertionResult keepsValues(mlir::ModuleOp before, mlir::ModuleOp after, SizeChoice sizes,
                                     uint64_t seed);

/// The module as it is printed, for messages.
std::string textOf(mlir::ModuleOp module);

} // namespace smelt
