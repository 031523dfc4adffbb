// What a caller can give to make a value known that an import needs: messages end in it.
#pragma once

#include "ir/dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>

namespace smelt::frontend {

/// "; give it by --value sr=@FILE.npy (for one run: --input)": the flags that fix the inputs, and the sizes of inputs, that
/// `value` is computed from. "" where there are none.
std::string fixingFlags(mlir::Value value);

/// The same for a size of a tensor in `function`: "; give it by --shape x=<seq>x576".
std::string fixingFlags(mlir::func::FuncOp function, Dim size);

} // namespace smelt::frontend
