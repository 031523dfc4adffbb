// Conversions to the types that are for storage alone, as ONNX defines them.
#pragma once

#include "frontend/graph_builder.h"

namespace smelt::frontend {

/// How a float becomes one of 8 bits.
struct CastRules {
  bool saturate = true;             ///< what is too large becomes the largest number
  llvm::StringRef roundMode = "up"; ///< of scales: "up", "down" or "nearest"
};

/// `input` in `target`; a float out of the range of one of 8 bits goes by the rules. Null where `input`
/// is.
mlir::Value castByRules(GraphBuilder &build, mlir::Value input, mlir::Type target,
                        CastRules rules = {});

} // namespace smelt::frontend
