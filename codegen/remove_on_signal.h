// Files that an interrupted process takes with it. Apart from output_file.cpp, so that the
// runtime's tests can write plans without LLVM.
#pragma once

#include <string>

namespace smelt::codegen {

/// From now on Ctrl-C, SIGTERM and crashes remove the file, until keepOnSignal is called.
void removeOnSignal(const std::string &path);
void keepOnSignal(const std::string &path);

} // namespace smelt::codegen
