#include "ir/interpret/thread_pool.h"

#include <algorithm>

namespace smelt {

namespace {

/// More ranges than threads, so that a thread that the system delays does not hold up the others.
constexpr int64_t kRangesPerThread = 4;

} // namespace

ThreadPool::ThreadPool(unsigned threads) {
  unsigned wanted = threads ? threads : std::max(1u, std::thread::hardware_concurrency());
  for (unsigned index = 1; index < wanted; ++index)
    workers.emplace_back([this] { work(); });
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  started.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

void ThreadPool::parallelFor(int64_t iterations, int64_t grain, Body loopBody) {
  if (iterations <= 0)
    return;
  int64_t ranges = std::min<int64_t>((iterations + grain - 1) / grain, size() * kRangesPerThread);
  if (workers.empty() || ranges <= 1)
    return loopBody(0, iterations);
  {
    std::lock_guard lock(mutex);
    body = loopBody;
    count = iterations;
    range = (iterations + ranges - 1) / ranges;
    next = 0;
    busy = workers.size();
    ++generation;
  }
  started.notify_all();
  runRanges();
  std::unique_lock lock(mutex);
  finished.wait(lock, [this] { return busy == 0; });
}

void ThreadPool::work() {
  uint64_t seen = 0;
  while (true) {
    {
      std::unique_lock lock(mutex);
      started.wait(lock, [&] { return stopping || generation != seen; });
      if (stopping)
        return;
      seen = generation;
    }
    runRanges();
    std::lock_guard lock(mutex);
    if (--busy == 0)
      finished.notify_one();
  }
}

void ThreadPool::runRanges() {
  for (int64_t begin = next.fetch_add(range); begin < count; begin = next.fetch_add(range))
    body(begin, std::min(begin + range, count));
}

} // namespace smelt
