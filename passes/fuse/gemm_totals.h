// Totals over what a product's kernel stores, which its epilogue can add to.
//
// Problem: exports in half precision count the infinities of every layer's result, to clip by the count. Two kernels read
// the whole result for that one number, and 12 layers of T5-small spend an eighth of their time on it. Method: the
// epilogue, which holds the result, counts. Its threads add what they find to one number in memory, an integer, so that
// their order does not matter; and only where what is counted is hardly ever true, else they would queue up for it.
#pragma once

#include "passes/fuse/fusion_group.h"

namespace smelt::passes {

/// A total over a product's result, and the predicate that keeps it out of the product's kernel; "" where it was drawn in.
struct Total {
  ReduceOp op;
  llvm::StringRef obstacle;
};

/// Draws the totals over results of `group`, a product with its epilogue, into it.
llvm::SmallVector<Total> absorbTotals(FusionGroup &group);

} // namespace smelt::passes
