// Every op after every other: chains of two and three ops over all element types.
#pragma once

#include "tests/generate/run.h"

namespace smelt::generate {

/// A task for each pair of ops and each element type of the input; what the first does not take is impossible.
std::vector<Task> pairTasks();
/// So many chains of three, of every type, drawn.
std::vector<Task> tripleTasks(size_t count);
/// Each `stride`-th, from `first` on.
std::vector<Task> every(std::vector<Task> tasks, size_t stride, size_t first);

} // namespace smelt::generate
