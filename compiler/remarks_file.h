// What passes took and refused, in a file beside the dumps instead of in each of them.
//
// Remarks are only ever added, so that those of a dump are the first of the file: the dump says how many
// (kRemarkCount).
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace smelt::compiler {

/// In the folder of the dumps.
inline constexpr llvm::StringLiteral kRemarksFile = "remarks.txt";

/// The attribute of a dump without its remarks: how many it has.
inline constexpr llvm::StringLiteral kRemarkCount = "smelt.remark_count";

/// One a line: `refused "gemm epilogue" of "/layer/Add" by "the predicate", "what that means"`, as in
/// #smelt.remark.
std::string remarksText(mlir::ModuleOp module);

/// A copy of the module that has none, and says how many it had.
mlir::OwningOpRef<mlir::ModuleOp> withoutRemarks(mlir::ModuleOp module);

/// Gives a dump that was read from `path` the remarks that it had; warns where the file beside it does not
/// hold them.
void restoreRemarks(mlir::ModuleOp dump, const std::string &path);

} // namespace smelt::compiler
