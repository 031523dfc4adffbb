// The fused module as a plan keeps it.
//
// Problem: which kernel of a plan is wrong shows in what each of them leaves, and a plan hands out the
// outputs of the model alone. Method: the plan keeps the module that its kernels were made of, as text;
// beside the model, which has the weights, it is a fused model again (Model::reopen). Equal models give
// equal texts, wherever they lie. Gain: `smelt compare --plan` names the kernel; a plan of BERT grows by
// 0.2 MB of 220.
#pragma once

#include "compiler/precision.h"

#include "mlir/IR/BuiltinOps.h"

namespace smelt::compiler {

/// Without where the model lay, and without the remarks, which a plan has beside it.
std::string fusedIr(mlir::ModuleOp fused);

/// What a fused module was made with, as it says itself.
struct FusedWith {
  FloatPrecision precision = FloatPrecision::fp32; ///< fp32 also for tf32, which changes no IR
  std::optional<double> within;                    ///< NarrowingOptions::within
  bool refit = false;
};

FusedWith fusedWith(mlir::ModuleOp fused);

/// Has the module say that it was narrowed, once it was.
void markNarrowed(mlir::ModuleOp module, const NarrowingOptions &narrowing);

} // namespace smelt::compiler
