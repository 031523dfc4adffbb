// Files that a process which dies takes with it. This library catches no signal: the program that
// does calls removeUnfinishedFiles(). Apart from output_file.cpp, and without LLVM, whose own list
// brings its signal handlers along.
#pragma once

#include <string>

namespace smelt::codegen {

/// From now on removeUnfinishedFiles() removes the file, until it is finished. Thread-safe.
void addUnfinishedFile(const std::string &path);
void finishFile(const std::string &path);

/// Safe in a signal handler. What other threads add meanwhile may stay.
void removeUnfinishedFiles();

} // namespace smelt::codegen
