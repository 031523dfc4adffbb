// Prints generated text from templates with named variables.
//
// A template is a raw string with `$name$` where a value goes. Every variable that is given must
// occur and every one that occurs must be given: a mistake ends the process, for it is a defect of
// an emitter that its first test shows. A line that holds only `$name$` takes a value of any number
// of lines and indents each as the variable stands; an empty value removes that line.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <initializer_list>
#include <string>
#include <utility>

namespace smelt::codegen {

using Variables = std::initializer_list<std::pair<llvm::StringRef, llvm::StringRef>>;

/// `text` with its variables replaced. The line break right after the opening quotes of a raw
/// string is dropped. Aborts on a missing or an unused variable.
std::string format(llvm::StringRef text, Variables variables = {});

/// Every line of `text` that is not empty, moved right by `columns`.
std::string indented(llvm::StringRef text, unsigned columns);

} // namespace smelt::codegen
