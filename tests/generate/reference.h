// What a graph should give: its imported module in double precision, op by op; and how much rounding may move that.
#pragma once

#include "tests/generate/compare.h"

#include "ir/weights.h"

#include "mlir/IR/BuiltinOps.h"

namespace smelt::generate {

struct Reference {
  std::vector<Numbers> outputs;
  std::vector<Sensitivity> sensitivities;
  double base = 0;       ///< the limit that follows from the narrowest float of the module
  bool hasCasts = false; ///< to a narrower float: passes may round elsewhere
};

struct ReferenceResult {
  std::optional<Reference> reference;
  /// Why there is none: "" is a failure of the interpreter, anything else why nothing can be said of the graph with these
  /// inputs: it leaves a type's range, or rounding decides.
  std::string rejection;
};

/// Runs @main of the module as imported.
ReferenceResult computeReference(mlir::ModuleOp module, WeightStore &weights,
                                 const std::vector<Array> &inputs);

/// The arrays as the interpreter's tensors, for a module with these arguments.
std::vector<HostTensor> toTensors(mlir::ModuleOp module, const std::vector<Array> &inputs);
Numbers toNumbers(const HostTensor &tensor);
/// The elements as bytes of their declared type.
bool isFloatOutput(const HostTensor &tensor);

} // namespace smelt::generate
