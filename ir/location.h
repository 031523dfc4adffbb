// ONNX node names: the locations of ops, from import through fusion to the CUDA text.
#pragma once

#include "mlir/IR/Location.h"

#include <string>

namespace smelt {

/// The names of the ONNX nodes behind a location, in order, each once.
llvm::SmallVector<llvm::StringRef> nodeNames(mlir::Location location);

/// The first of nodeNames, or "an unnamed op".
std::string nodeName(mlir::Location location);

} // namespace smelt
