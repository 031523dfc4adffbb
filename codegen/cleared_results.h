// Results that kernels add to, which a plan clears before its steps.
//
// Problem: a memory set in front of each such kernel would take as long as a kernel, and stand between kernels that
// overlap otherwise. Method: results in the arena lie side by side in one buffer, which shares its memory with no other,
// and one memory set in front of the first step clears them all. Results that are the model's, in the caller's memory, and
// those of steps that run once for a shape are cleared there too, each by a memory set of its own.
#pragma once

#include "codegen/kernel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace smelt::codegen {

class ClearedResults {
public:
  explicit ClearedResults(mlir::func::FuncOp function);

  /// Notes the results of `fusion` that its kernels add to.
  void add(FusionOp fusion, llvm::ArrayRef<KernelVariant> variants, bool runsOnce);

  /// Where in the common buffer `result` lies, in bytes; none of others.
  std::optional<int64_t> offsetOf(mlir::Value result) const;
  /// Of the common buffer.
  int64_t bytes() const { return static_cast<int64_t>(shared.size()) * kAlignment; }
  /// The results that lie there.
  llvm::ArrayRef<std::pair<mlir::Value, int64_t>> inCommon() const { return shared.getArrayRef(); }
  /// The others, of the steps that run once or of those that run each time.
  llvm::ArrayRef<mlir::Value> alone(bool runsOnce) const { return runsOnce ? once : outputs; }

  /// Memory sets in front of the first of the steps that run once, or of the others.
  size_t launches(bool runsOnce) const {
    return alone(runsOnce).size() + (!runsOnce && !shared.empty());
  }

private:
  static constexpr int64_t kAlignment = 16; // of all buffers that kernels see

  llvm::DenseSet<mlir::Value> modelOutputs;
  llvm::MapVector<mlir::Value, int64_t> shared; // in the common buffer, where
  llvm::SmallVector<mlir::Value> outputs, once;
};

} // namespace smelt::codegen
