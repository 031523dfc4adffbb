// Times of what a stream runs, by events, behind a gate that opens when everything is queued.
#pragma once

#include "runtime/driver.h"
#include "runtime/status.h"

#include <atomic>
#include <utility>
#include <vector>

namespace smelt::runtime {

class Event {
public:
  static Result<Event> create(const DriverApi &api) {
    CUevent handle = nullptr;
    SMELT_RETURN_IF_CUDA_ERROR(api, "creating a timer", cuEventCreate, &handle, CU_EVENT_DEFAULT);
    return Event(api, handle);
  }
  Event(Event &&other) noexcept : api(other.api), handle(std::exchange(other.handle, nullptr)) {}
  Event &operator=(Event &&) = delete;
  ~Event() {
    if (handle != nullptr)
      api.cuEventDestroy(handle);
  }

  Status record(CUstream stream) const {
    SMELT_RETURN_IF_CUDA_ERROR(api, "starting a timer", cuEventRecord, handle, stream);
    return {};
  }
  Status wait() const {
    SMELT_RETURN_IF_CUDA_ERROR(api, "waiting for a timed run", cuEventSynchronize, handle);
    return {};
  }
  Result<double> millisecondsUntil(const Event &end) const {
    float milliseconds = 0;
    SMELT_RETURN_IF_CUDA_ERROR(api, "reading a timer", cuEventElapsedTime, &milliseconds, handle,
                               end.handle);
    return double(milliseconds);
  }

private:
  Event(const DriverApi &api, CUevent handle) : api(api), handle(handle) {}

  const DriverApi &api;
  CUevent handle;
};

inline Result<std::vector<Event>> createEvents(const DriverApi &api, size_t count) {
  std::vector<Event> events;
  events.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    SMELT_ASSIGN_OR_RETURN(Event event, Event::create(api));
    events.push_back(std::move(event));
  }
  return events;
}

/// Holds a stream back until everything to be timed is queued, so that the device never waits for
/// the host in between.
class Gate {
public:
  Gate(const DriverApi &api, CUstream stream) : api(api), stream(stream) {}
  ~Gate() {
    open();
    if (isQueued)
      api.cuStreamSynchronize(stream);
  }
  Gate(const Gate &) = delete;

  Status queue() {
    SMELT_RETURN_IF_CUDA_ERROR(api, "holding the stream back", cuLaunchHostFunc, stream,
                               &Gate::pass, this);
    isQueued = true;
    return {};
  }
  void open() {
    isOpen = true;
    isOpen.notify_all();
  }

private:
  static void CUDA_CB pass(void *gate) { static_cast<Gate *>(gate)->isOpen.wait(false); }

  const DriverApi &api;
  CUstream stream;
  std::atomic<bool> isOpen = false;
  bool isQueued = false;
};

} // namespace smelt::runtime
