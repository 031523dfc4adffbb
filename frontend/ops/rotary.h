// Rotary position embeddings, as handlers of several families need them. Null after a report, as everywhere.
#pragma once

#include "frontend/node_reader.h"

namespace smelt::frontend {

/// `heads`, [batch, length, heads, size], turned by angles whose cosines and sines are [batch or 1, length, 1, half]:
/// of the first 2 * half elements of each head, those that are neighbours, or those at one place of either half. The
/// sizes of heads and of halves are constant.
mlir::Value turnHeads(GraphBuilder &build, mlir::Value heads, mlir::Value cosine, mlir::Value sine,
                      bool areNeighbours);

} // namespace smelt::frontend
