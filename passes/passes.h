// Declarations of every pass, and their registration for smelt-opt.
#pragma once

#include "ir/weights.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace smelt::passes {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/passes.h.inc"

/// With the bytes of integer weights (tables of positions); they must outlive the pass.
std::unique_ptr<mlir::Pass> createSimplifyAffine(WeightStore *weights);

/// With the bytes of the weights that norms scale; they must outlive the pass.
std::unique_ptr<mlir::Pass> createFuseNorm(WeightStore *weights);

/// `type` is "f16" or "bf16"; with the bytes of weights, which must outlive the pass (null: they count
/// as within its range).
std::unique_ptr<mlir::Pass> createNarrow(llvm::StringRef type, WeightStore *weights);

/// For pairs "input=output"; `onRefusal` is called where one of them cannot share a buffer.
std::unique_ptr<mlir::Pass> createInPlace(const std::vector<std::string> &pairs,
                                          std::function<void()> onRefusal);

} // namespace smelt::passes

namespace smelt {

/// Registers every pass of this folder, and each phase as a pipeline, with MLIR's command line.
void registerSmeltPasses();

} // namespace smelt
