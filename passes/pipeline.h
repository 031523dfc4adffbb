// The pass pipeline: simplify, raise, narrow, fuse, lower.
#pragma once

#include "ir/weights.h"

#include "mlir/Pass/PassManager.h"

#include <functional>

namespace smelt {

struct PipelineOptions {
  /// Bytes of the module's weights; must outlive the pipeline.
  WeightStore *weights = nullptr;
  /// Inputs that grow in place, as "input=output"; a * in both stands for the same text.
  std::vector<std::string> inPlace;
  /// Called where one of them cannot, which is reported: the caller's mistake, and no pass's.
  std::function<void()> onInPlaceRefused;
  /// What float32 values are narrowed to, "f16" or "bf16"; "": they are not, and there is no phase
  /// "narrow".
  std::string narrowTo;
  /// Called after each phase ("simplify", "raise", "narrow", "fuse", "lower"), for dumps; failure ends the
  /// pipeline.
  std::function<mlir::LogicalResult(llvm::StringRef phase, mlir::ModuleOp module)> afterPhase;
  /// The phase that the module has behind it; "" and "import" before the first.
  std::string after;
  /// The last phase to run; "": all.
  std::string until;
};

/// Adds every phase to `manager`, which runs on a module of verified graph IR.
void buildPipeline(mlir::OpPassManager &manager, const PipelineOptions &options);

} // namespace smelt
