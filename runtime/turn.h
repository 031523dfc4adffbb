// One call at a time: objects that are not for two threads at once notice and refuse them.
#pragma once

#include "runtime/status.h"

#include <atomic>

namespace smelt::runtime {

/// The right to use a context, held by one call at a time.
class Turn {
public:
  explicit Turn(std::atomic_flag &busy) : busy(busy), isTaken(!busy.test_and_set()) {}
  ~Turn() {
    if (isTaken)
      busy.clear();
  }
  Turn(const Turn &) = delete;

  Status status() const {
    if (isTaken)
      return {};
    return Status(StatusCode::kUsage, "another thread is using this context; make one context for "
                                      "each thread, they can share the engine");
  }

private:
  std::atomic_flag &busy;
  bool isTaken;
};

} // namespace smelt::runtime
