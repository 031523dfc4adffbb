// IR as text: what smelt wrote, or what someone says it wrote.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace smelt {

/// How deep brackets may nest in a text. Those that smelt writes nest less than half as deep, for any model that it imports.
inline constexpr size_t kMaxTextDepth = 256;

/// The module that the text describes; null, with an error on the context, where it describes none. MLIR's parser and
/// printer recurse as deep as a text nests, and end the process where their stack does: deeper brackets are refused before,
/// and what nests without any and is in no text of smelt's, aliases and affine maps; so is MLIR's bytecode. `name` is the
/// text's file in locations.
mlir::OwningOpRef<mlir::ModuleOp> parseText(llvm::StringRef text, mlir::MLIRContext *context,
                                            llvm::StringRef name = "");

/// The same of a file's text.
mlir::OwningOpRef<mlir::ModuleOp> parseTextFile(llvm::StringRef path, mlir::MLIRContext *context);

} // namespace smelt
