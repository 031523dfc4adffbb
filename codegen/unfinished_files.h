// Files that a process which dies takes with it. This library catches no signal: the program that
// does calls removeUnfinishedFiles(). Apart from output_file.cpp, and without LLVM, whose own list
// brings its signal handlers along.
#pragma once

#include <mutex>
#include <string>

namespace smelt::codegen {

/// Held from before a file is created until it is in the list, so that a thread which ends the process finds it there.
/// Recursive, for the end may come where this thread runs out of memory.
using UnfinishedFilesLock = std::unique_lock<std::recursive_timed_mutex>;
[[nodiscard]] UnfinishedFilesLock lockUnfinishedFiles();

/// From now on removeUnfinishedFiles() removes the file, until it is finished.
void addUnfinishedFile(const std::string &path, const UnfinishedFilesLock &lock);
/// Waits while the list is locked.
void finishFile(const std::string &path);

/// Safe in a signal handler. What other threads create meanwhile may stay.
void removeUnfinishedFiles();

/// For a thread that is about to end the process, be it by a crash: from now on no other thread creates a file. Waits at most a second
/// for one that does.
void removeUnfinishedFilesForGood();

} // namespace smelt::codegen
