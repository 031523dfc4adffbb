// What the raise passes share: replacing a value once the numeric check agrees, with a remark
// either way.
#pragma once

#include "passes/raise/raise_check.h"
#include "passes/remark.h"

#include "mlir/IR/Builders.h"

namespace smelt::passes {

/// One raise pass at work on one module.
class Raiser {
public:
  explicit Raiser(mlir::ModuleOp module) : checker(module), remarks(module) {}

  /// Replaces `original` by `raised` if both agree on random `leaves`; else erases the ops that
  /// `raised` added and says so. `fusion` and `message` are the remark's.
  bool replace(mlir::Value original, mlir::Value raised, llvm::ArrayRef<mlir::Value> leaves,
               double tolerance, llvm::StringRef fusion, const llvm::Twine &message);

  Remarks &getRemarks() { return remarks; }

private:
  RaiseChecker checker;
  Remarks remarks;
};

/// The locations of `roots` and of the ops behind them, back to `leaves`, as one.
mlir::Location fusedLocation(llvm::ArrayRef<mlir::Value> roots, llvm::ArrayRef<mlir::Value> leaves);

/// `value` or, where it is a cast between float types, what was cast.
mlir::Value throughFloatCast(mlir::Value value);
/// `op` is a cast between float types; null is none.
bool isFloatCast(mlir::Operation *op);

/// `value` in the element type `type`.
mlir::Value castTo(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value,
                   mlir::Type type);

/// The factor of a product with, or quotient by, a float constant, and what is scaled.
struct Scaled {
  mlir::Value value;
  double factor;
};
std::optional<Scaled> matchScaled(mlir::Value value);

} // namespace smelt::passes
