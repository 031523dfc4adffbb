// Local functions (`Model.functions`) are inlined: each call becomes the renamed nodes of the body.
#pragma once

#include "frontend/graph.h"

namespace smelt::frontend {

/// Fills `graph.nodes` with the nodes of `graph.proto`, in file order, calls of the model's local
/// functions replaced by their bodies. Reports and fails for recursion and deep nesting, for calls with
/// too many arguments, and where the result passes kMaxNodes or kMaxInlinedBytes.
mlir::LogicalResult inlineFunctions(mlir::Location location, onnx_wire::Model &model,
                                    const OpsetMap &opsets, Graph &graph);

} // namespace smelt::frontend
