// Threads that share a session.
#pragma once

#include <mutex>
#include <nanobind/nanobind.h>

namespace smelt::python {

/// The right to use a session, held by one call at a time. Who waits for it lets go of Python's lock, which
/// the other may need.
class Turn {
public:
  explicit Turn(std::mutex &mutex) : lock(mutex, std::try_to_lock) {
    if (lock.owns_lock())
      return;
    nanobind::gil_scoped_release released;
    lock.lock();
  }

private:
  std::unique_lock<std::mutex> lock;
};

} // namespace smelt::python
