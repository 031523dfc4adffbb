// The proof obligation of every raise: on small random tensors, in double precision, the raised op
// gives what the ops that it replaces give.
#pragma once

#include "ir/dialect.h"

#include "llvm/ADT/StringMap.h"

namespace smelt::passes {

struct RaiseCheck {
  bool agrees = false;
  /// ||raised - original|| / ||original||; meaningless where `problem` says why nothing was
  /// compared.
  double error = 0;
  std::string problem;
};

/// Compares values that different ops compute from the same leaves. Identical layers are compared
/// once.
class RaiseChecker {
public:
  explicit RaiseChecker(mlir::ModuleOp module) : module(module) {}

  /// `leaves`: values that both `original` and `raised` are computed from; everything in between is
  /// evaluated. `tolerance`: largest relative error that rounded constants and casts between the
  /// leaves and the values excuse.
  RaiseCheck check(mlir::Value original, mlir::Value raised, llvm::ArrayRef<mlir::Value> leaves,
                   double tolerance);

private:
  mlir::ModuleOp module;
  llvm::StringMap<RaiseCheck> checked; // by the text of the two expressions
};

/// The error that constants of `type` and casts to it leave: half the distance of neighbours, with
/// some slack.
double roundingTolerance(mlir::Type type);

} // namespace smelt::passes
