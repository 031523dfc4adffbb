// The fake driver of a process: one device at a time, which takes any plan and replays outputs.
#pragma once

#include "runtime/fake_driver.h"
#include "runtime/recorded_outputs.h"

#include <deque>

namespace smelt::runtime {

/// A fake driver whose table knows the kernels of any plan and hands out recorded outputs.
class FakeProcessDriver {
public:
  explicit FakeProcessDriver(FakeDevice device);

  Driver driver() const { return api; }
  FakeDriver &fake() { return device; }
  /// Does `work` on the recordings; not while a run reads them.
  template <typename Work> Status withRecordings(Work work) {
    std::lock_guard lock(mutex);
    return work(recordings);
  }

private:
  void replayOutputs(DriverApi &table);
  CUresult overwrite(void *target, size_t rowBytes, size_t rows, size_t pitch);

  FakeDriver device;
  Driver api;
  std::mutex mutex; ///< of what follows
  RecordedOutputs recordings;
  const std::string *complaint = nullptr; ///< about the last run
  std::deque<std::string> complaints; ///< where they are, they stay: the runtime was given pointers
};

} // namespace smelt::runtime
