// Inputs whose values a caller gave and the graph's structure depends on: they become initializers.
//
// Problem: exporters and ONNX's own tests leave axes, shapes and bounds as inputs, and a graph of
// operations cannot be built before they are known. Method: the import is tried without; where it
// needs the value of an input, and there is one, the input becomes a constant and the import begins
// again. An input whose value nobody needs stays one.
#pragma once

#include "frontend/import.h"
#include "frontend/onnx.pb.h"

#include "mlir/IR/Diagnostics.h"

#include <map>

namespace smelt::frontend {

/// The inputs that a caller must give, in order: those that no initializer stands for.
std::vector<std::string> callerInputs(const onnx_wire::Graph &graph);

class FixedInputs {
public:
  explicit FixedInputs(const ImportOptions &options) : options(options) {}

  /// Adds them to the graph as initializers; notes which inputs it has.
  void addTo(onnx_wire::Graph &graph);

  /// Fixes those of `names` that are not yet and have a value. Whether there are any.
  bool fix(llvm::ArrayRef<std::string> names);

  std::vector<FixedInput> list() const;

  /// The caller's options for what is left: a fixed input, which has the shape of its value, needs none.
  ImportOptions remainingOptions() const;

private:
  struct Fixed {
    size_t number;
    TensorValue value;
  };

  const ImportOptions &options;
  std::vector<std::string> inputs; ///< without those that initializers stand for
  std::map<std::string, Fixed> values;
};

/// Keeps diagnostics back until it is known whether they are the last word.
class HeldDiagnostics {
public:
  explicit HeldDiagnostics(mlir::MLIRContext &context);
  /// Holds no others back, and keeps those that it has.
  void stop();
  /// The same, and lets those go.
  void release();

private:
  mlir::MLIRContext &context;
  std::vector<mlir::Diagnostic> held;
  std::optional<mlir::ScopedDiagnosticHandler> handler;
};

} // namespace smelt::frontend
