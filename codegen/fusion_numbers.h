// The number of a kernel: one for each fusion, the same wherever a person meets it.
//
// A plan runs some fusions once for each shape, before the others; these come first, and otherwise the
// module's order stays. Fusion k is step k of the plan, kernel k of `smelt explain`, `inspect`, `bench`,
// `report`, of dumps and of profilers' traces. Where it takes several launches they are k.1, k.2, ...
// (plan::launchNumber).
#pragma once

#include "ir/dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace smelt::codegen {

/// The tensor whose memory `value` is: reshapes at the top level only rename.
mlir::Value storageOf(mlir::Value value);

/// The fusions of a fused function that depend on nothing but weights and sizes. Results of the model are
/// written in every run, for their memory is the caller's.
llvm::DenseSet<mlir::Operation *> fusionsThatRunOnce(mlir::func::FuncOp function);

/// All fusions of a fused function, each at its number.
llvm::SmallVector<FusionOp> numberedFusions(mlir::func::FuncOp function);

} // namespace smelt::codegen
