// Which ops become one kernel of a reduction over axes before the last: shared by the pass that forms
// the kernels and the passes that rewrite the graph for them.
#pragma once

#include "passes/fuse/gemm_group.h"

namespace smelt::passes {

/// A kernel to be formed.
struct ColumnwiseKernel {
  ReduceOp reduction;
  /// The reduction and the ops after it that the kernel computes on its results. All of them lead to
  /// one value, the group's only live-out.
  FusionGroup group;
  Boundary boundary; ///< what reads its result and stays outside

  /// The rows of the kernel's result are those of the reduction's: threads that are neighbours hold
  /// columns that are.
  bool keepsRows() const;
};

/// `op` is to become a columnwise kernel.
bool isColumnwise(ReduceOp op);

/// The kernel of `reduction`, of ops that are not `taken` by others.
ColumnwiseKernel planColumnwise(ReduceOp reduction,
                                llvm::function_ref<bool(mlir::Operation *)> taken = nullptr);

/// Those of a function whose products become kernels by `products`. Valid as long as the ops stay as
/// they are.
llvm::SmallVector<ColumnwiseKernel, 0> planColumnwise(mlir::func::FuncOp function,
                                                      const GemmPlan &products);

/// What stores the moments of the rows at which `group` ends (fuse_norm.cpp).
llvm::SmallVector<RowMomentsOp> momentsOfRows(const FusionGroup &group);

} // namespace smelt::passes
