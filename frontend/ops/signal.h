// What transforms of signals and their windows share.
#pragma once

#include "frontend/node_reader.h"

namespace smelt::frontend {

constexpr double kTurn = 2 * 3.14159265358979323846; ///< in radians

/// One size, from an input of one element: at least `least` for all sizes. `what` names it.
mlir::FailureOr<Dim> readSize(NodeReader &node, size_t index, llvm::StringRef what, int64_t least);

} // namespace smelt::frontend
