// Numbers drawn at random, as handlers of several families need them. Null after a report, as everywhere.
#pragma once

#include "frontend/node_reader.h"

namespace smelt::frontend {

/// Float32 numbers between 0 and 1, neither among them: the same in each run.
mlir::Value drawUniform(NodeReader &node, llvm::ArrayRef<Dim> shape);

} // namespace smelt::frontend
