// The declared inputs of a graph: names, element types, symbolic shapes.
#pragma once

#include "frontend/onnx.pb.h"
#include "ir/dialect.h"

#include <string>
#include <vector>

namespace smelt::frontend {

struct GraphInput {
  std::string name;
  TensorType type;
};

using PinnedShapes = std::vector<std::pair<std::string, std::vector<int64_t>>>;

/// The inputs that a caller must give: those that no initializer stands for. A `dim_param` becomes
/// the symbol of that name (made an identifier, and unique), a dynamic dimension without a name, or
/// with a placeholder such as "?" for one, is `<input>_d<axis>`; `pinned` replaces dimensions by constants, and with them the same symbols in
/// every input. `undeclared` gives shapes to inputs that declare none, and says nothing of others.
/// Reports and fails for inputs that are no tensors of a supported type and known rank, and for
/// pinned shapes that do not fit, unless they replace what is declared.
mlir::FailureOr<std::vector<GraphInput>>
readInputs(mlir::Location location, const onnx_wire::Graph &graph, const PinnedShapes &pinned,
           const PinnedShapes &undeclared, bool replacesDeclared = false);

} // namespace smelt::frontend
