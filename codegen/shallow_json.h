// JSON that someone else may have written.
#pragma once

#include "llvm/Support/JSON.h"

namespace smelt::codegen {

/// llvm::json::parse, whose calls nest as deep as a text's brackets do, until the stack ends: an error where that is more
/// than 64 deep, which nothing that smelt writes or reads is.
llvm::Expected<llvm::json::Value> parseShallowJson(llvm::StringRef text);

} // namespace smelt::codegen
