// What a compilation leaves behind for people who read the IR.
//
//   index.txt     every pass with its time, and the file that shows what it left
//   NN_NAME.mlir  the module after a phase, or after each pass; what changed nothing has no file
//   remarks.txt   what the passes took and refused, and why (compiler/remarks_file.h)
//
// `smelt compile` goes on from a file that a phase ended with; of others it says where to find one.
#pragma once

#include "runtime/status.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace smelt::compiler {

/// The attribute of a module that was written in the middle of a phase: the pass that it has behind it.
inline constexpr llvm::StringLiteral kPass = "smelt.pass";

class Dumps {
public:
  /// Writes nothing where `folder` is "".
  Dumps(std::string folder, bool everyPass) : folder(std::move(folder)), everyPass(everyPass) {}

  /// After `pass`, which took so long.
  Status endPass(llvm::StringRef pass, double seconds, mlir::ModuleOp module);
  /// After `phase`, number `number` of all; the module names it.
  Status endPhase(llvm::StringRef phase, size_t number, mlir::ModuleOp module);

private:
  /// Writes the module under a name of its own, unless it is as it was.
  Status write(size_t number, llvm::StringRef name, mlir::ModuleOp module);
  Status writeIndex() const;

  std::string folder;
  bool everyPass;
  size_t passes = 0;
  std::string last;     ///< the module as it was written last, without marks
  std::string lastFile; ///< and where; "" before the first
  std::string index;
};

} // namespace smelt::compiler
