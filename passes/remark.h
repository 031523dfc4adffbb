// Remarks: each decision of a pass, taken or refused, with the predicate that decided it. `smelt
// explain` shows them.
#pragma once

#include "ir/dialect.h"
#include "ir/location.h"

namespace smelt::passes {

/// Collects remarks and appends them to the module's `smelt.remarks` when it goes out of scope.
class Remarks {
public:
  explicit Remarks(mlir::ModuleOp module) : module(module) {}
  ~Remarks();
  Remarks(const Remarks &) = delete;
  Remarks &operator=(const Remarks &) = delete;

  /// `fusion` ("attention", "layer_norm", ...) was formed at `location`.
  void taken(mlir::Location location, llvm::StringRef fusion, const llvm::Twine &message);
  /// It was not: `predicate` names the check that failed, `message` says what was found instead.
  void refused(mlir::Location location, llvm::StringRef fusion, llvm::StringRef predicate,
               const llvm::Twine &message);

private:
  void add(mlir::Location location, llvm::StringRef fusion, Decision decision,
           llvm::StringRef predicate, const llvm::Twine &message);

  mlir::ModuleOp module;
  llvm::SmallVector<RemarkAttr> records;
};

} // namespace smelt::passes
