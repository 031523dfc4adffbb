// Which ops become one GEMM kernel: shared by the pass that forms the kernels and the passes that
// rewrite the graph for it.
//
// A kernel holds one product and what follows it elementwise, or, as in gated MLPs, two products of
// one left operand whose results meet there:
//
//   silu(x Wg + bg) * (x Wu + bu)
//
// Such a pair saves storing and loading one of the results, a launch, and reading x twice. Where what
// follows ends in a concatenation of two results, the kernel stores both, each in its place: halves of
// heads that are turned (fuse_rotary.cpp).
#pragma once

#include "passes/fuse/fusion_group.h"

#include "llvm/ADT/DenseMap.h"

namespace smelt::passes {

/// A kernel to be formed.
struct GemmKernel {
  /// One product, or two of the same left operand and of weights of one shape.
  llvm::SmallVector<MatmulOp, 2> products;
  /// The products and the ops after them that the kernel computes on the accumulators. All of them
  /// lead to one value, the group's only live-out.
  FusionGroup group;
  Boundary boundary; ///< what reads its result and stays outside
};

/// The GEMM kernels of a function, and to which of them each op belongs. Valid as long as the ops
/// stay as they are.
class GemmPlan {
public:
  explicit GemmPlan(mlir::func::FuncOp function);

  llvm::MutableArrayRef<GemmKernel> kernels() { return all; }
  /// Null for ops in no kernel.
  const GemmKernel *kernelOf(mlir::Operation *op) const;

private:
  bool addKernel(llvm::ArrayRef<MatmulOp> products);
  bool addPair(MatmulOp matmul);

  llvm::SmallVector<GemmKernel, 0> all;
  llvm::DenseMap<mlir::Operation *, size_t> numbers; // of kernels, by op
  llvm::DenseSet<mlir::Operation *> candidates;      // products that become kernels
};

} // namespace smelt::passes
