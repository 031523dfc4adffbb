// Dead code, for passes that replace values and leave the chains behind them.
#pragma once

#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace smelt::passes {

/// Erases every op below `root` whose results nobody reads. One reverse walk: users stand behind
/// what they use.
inline void eraseDeadOps(mlir::Operation *root) {
  llvm::SmallVector<mlir::Operation *> ops;
  root->walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) { ops.push_back(op); });
  for (mlir::Operation *op : llvm::reverse(ops))
    if (op != root && mlir::isOpTriviallyDead(op))
      op->erase();
}

} // namespace smelt::passes
