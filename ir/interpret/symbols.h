// The values of size symbols for one set of input shapes.
#pragma once

#include "ir/dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace smelt {

using Symbols = llvm::StringMap<int64_t>;
using Shape = llvm::SmallVector<int64_t, 4>;

/// None where a symbol has no value, a divisor is 0 or an int64 overflows.
std::optional<int64_t> evaluateDim(Dim dim, const Symbols &symbols);
/// The concrete shape; none also where a size is negative.
std::optional<Shape> evaluateShape(TensorType type, const Symbols &symbols);

/// Finds the symbols from the shapes of the arguments: a dimension that is exactly a symbol defines
/// it, all others must agree. Reports at the function what does not fit: argument, axis, both
/// sizes.
mlir::FailureOr<Symbols> solveSymbols(mlir::func::FuncOp function, llvm::ArrayRef<Shape> shapes);

/// Chooses the room of results that grow in place (ir/alias.h), which no shape says: one more than
/// they need, so that a reader that takes the buffer for its contents is found out.
mlir::LogicalResult defineCapacities(mlir::func::FuncOp function, Symbols &symbols);

/// Checks the module's `smelt.guards`: what the importer assumed of symbolic sizes.
mlir::LogicalResult checkGuards(mlir::ModuleOp module, const Symbols &symbols);

/// "batch = 2, seq = 77", for messages.
std::string toString(const Symbols &symbols);

/// The `smelt.name` of an argument, or "argument 3".
std::string argumentName(mlir::func::FuncOp function, unsigned index);

} // namespace smelt
