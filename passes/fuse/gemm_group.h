// Which ops become one GEMM kernel: shared by the pass that forms the kernels and the passes that
// rewrite the graph for it.
#pragma once

#include "passes/fuse/fusion_group.h"

namespace smelt::passes {

/// The products that become GEMM kernels, in block order.
llvm::SmallVector<MatmulOp> gemmProducts(mlir::func::FuncOp function);

/// The product and the ops after it that its kernel computes on the accumulators. All of them lead
/// to one value, the group's only live-out. Ops that `isTaken` names belong to other kernels.
FusionGroup growGemm(MatmulOp matmul,
                     llvm::function_ref<bool(mlir::Operation *)> isTaken = nullptr);

/// mean, rstd or rrms of the rows behind a `smelt.row_moments`.
bool isRowStatistic(mlir::Operation *op);

} // namespace smelt::passes
