// The compiler's diagnostics, collected for people and for programs.
#pragma once

#include "runtime/status.h"

#include "mlir/IR/Diagnostics.h"

#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace smelt::compiler {

/// One error or warning, and where it is: the ONNX nodes, "input 'x'", "tensor 'w'", or the model's file for
/// what concerns it as a whole. Names are as the file has them, control characters included.
struct Problem {
  std::string place;
  std::string message;
  std::vector<std::string> notes;
  bool isError = true;
};

/// "node '/layer.0/Add': message", "input 'x': message", or "model.onnx: message", and a line for
/// each note; to be printed: what could move a terminal's cursor is escaped.
std::string problemText(const Problem &problem, const std::string &modelPath);

/// Text that may hold a model's names, for a terminal: control characters are escaped, as "\x1b".
std::string printable(llvm::StringRef text);
/// The same, with line ends escaped too.
std::string oneLine(llvm::StringRef text);

/// Takes a problem as it is reported, on whichever thread; never two at once.
using DiagnosticHandler = std::function<void(const Problem &)>;

/// Collects the errors that a context reports while this object lives; hands on its warnings too.
class DiagnosticCollector {
public:
  /// `modelPath`: how the model's own location is named.
  DiagnosticCollector(mlir::MLIRContext &context, std::string modelPath,
                      DiagnosticHandler onDiagnostic);

  std::vector<Problem> problems() const;
  /// Those that were reported so far.
  void forget();
  /// The problems as the text of a Status, one a line; `fallback` where none was reported.
  Status asStatus(StatusCode code, const std::string &fallback) const;

private:
  mlir::LogicalResult handle(mlir::Diagnostic &diagnostic);

  std::string modelPath;
  DiagnosticHandler onDiagnostic;
  mutable std::mutex mutex;
  std::vector<Problem> collected;
  mlir::ScopedDiagnosticHandler handler;
};

/// The names in a location, outermost first, without repetitions: "/layer.0/Add" or "a + b".
std::string locationText(mlir::Location location);

} // namespace smelt::compiler
