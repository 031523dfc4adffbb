// What passes decided about a module, kept with it: the guards that its shapes must pass, and the
// remarks that `smelt explain` shows.
#pragma once

#include "ir/dialect.h"

namespace smelt {

constexpr llvm::StringLiteral kGuards = "smelt.guards", kRemarks = "smelt.remarks";

/// The module's guards, in order; of a verified module.
llvm::SmallVector<GuardAttr> getGuards(mlir::ModuleOp module);
/// Adds `guards` behind those that the module has, each once.
void addGuards(mlir::ModuleOp module, llvm::ArrayRef<GuardAttr> guards);

/// The module's remarks, in order; of a verified module.
llvm::SmallVector<RemarkAttr> getRemarks(mlir::ModuleOp module);
/// Adds `remarks` behind those that the module has.
void addRemarks(mlir::ModuleOp module, llvm::ArrayRef<RemarkAttr> remarks);

} // namespace smelt
