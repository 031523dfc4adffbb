// Threads that share the iterations of one loop at a time.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace smelt {

/// A fixed set of threads; the caller of `parallelFor` is one of them. One loop runs at a time: not
/// to be called from inside a loop's body, nor by two threads at once.
class ThreadPool {
public:
  /// `threads` in all, the caller included; 0 asks for as many as there are cores to run on.
  explicit ThreadPool(unsigned threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  unsigned size() const { return workers.size() + 1; }

  using Body = llvm::function_ref<void(int64_t begin, int64_t end)>;
  /// Runs `body` over [0, count) in ranges of at least `grain` iterations (but the last); returns
  /// when all are done.
  void parallelFor(int64_t count, int64_t grain, Body body);

private:
  void work();
  void runRanges();

  std::vector<std::thread> workers;
  std::mutex mutex;
  std::condition_variable started, finished;
  // The loop in progress.
  Body body;
  int64_t count = 0, range = 1;
  std::atomic<int64_t> next{0};
  unsigned busy = 0;
  uint64_t generation = 0;
  bool stopping = false;
};

} // namespace smelt
