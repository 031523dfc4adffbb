// The phases of the pass pipeline as the compiler and its dumps name them.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace smelt::compiler {

/// The attribute of a module that names the phase it has behind it.
inline constexpr llvm::StringLiteral kPhase = "smelt.phase";

/// The attribute of a module that names the file of its model.
inline constexpr llvm::StringLiteral kModelPath = "smelt.model";

/// Whether `name` is "import" or a phase of the pipeline.
bool isPhase(llvm::StringRef name);

} // namespace smelt::compiler
