// Many graphs: worker processes draw and judge them, so that one that crashes or hangs costs only itself.
#pragma once

#include "tests/generate/judge.h"
#include "tests/generate/kinds.h"

#include <functional>

namespace smelt::generate {

/// What is to be drawn: a kind and a seed, or a chain of ops on one input.
struct Task {
  std::string kind;
  uint64_t seed = 0;
  bool mustBeDynamic = false;
  std::vector<std::string> chain; ///< not empty: these ops
  ElementType type = Wire::FLOAT; ///< of the chain's input

  /// "products 17", "Add>Softmax float16 3"
  std::string name() const;
};

/// What became of a task.
struct Report {
  size_t task = 0;
  enum State { kAgrees, kFails, kRejected, kImpossible } state = kAgrees;
  uint64_t seed = 0; ///< of the drawing that was judged
  std::optional<Failure> failure = {};
  std::string rejection = {};
  size_t redraws = 0, kernels = 0, comparisons = 0;
  double seconds = 0;
  bool isDynamic = false;
  std::vector<std::string> ops = {}, types = {}, pairs = {}; ///< of the graph, each once a node
};

struct RunOptions {
  JudgeOptions judge;
  unsigned jobs = 1;    ///< processes; 0 is this one
  double timeLimit = 0; ///< seconds; 0 is none
};

/// The graph of a task, drawn again with other seeds while nothing can be said of it.
std::optional<Graph> drawTask(const Task &task, uint64_t attempt, int64_t maxExtent);

/// Runs all tasks; `done` is called for each as it ends, in no order. A failure that NVRTC reports later replaces the first
/// report of its task. Fewer reports than tasks where the time ran out.
void runTasks(const std::vector<Task> &tasks, const RunOptions &options,
              const std::function<void(const Report &)> &done);

/// Judges one graph in a process of its own; a crash and a hang are failures.
Outcome judgeApart(const Graph &graph, const JudgeOptions &options);

} // namespace smelt::generate
