// Failures of Smelt as Python's exceptions.
#pragma once

#include <string>

namespace smelt::python {

/// smelt::Error becomes the exception of its code in smelt/_errors.py.
void translateErrors();

/// A failure of the caller's with the words of the package.
[[noreturn]] void refuse(const std::string &message);

} // namespace smelt::python
