// Device memory for the outputs of a session's runs. What callers have let go of serves later runs: an allocation takes
// longer than all else that Python adds to a run, and the driver waits for the whole device before it releases memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <smelt.hpp>
#include <vector>

namespace smelt::python {

/// Memory of one output.
class OutputBlock {
public:
  OutputBlock(DeviceMemory &&memory, std::size_t bytes, std::uintptr_t stream)
      : memory(std::move(memory)), bytes(bytes), stream(stream) {}

  void *address() const { return memory.address(); }
  /// Work that does not follow the run's stream uses it: only the driver knows from now on when that has ended.
  void leaveStream() { hasLeft = true; }

private:
  friend class OutputMemory;

  DeviceMemory memory;
  std::size_t bytes;
  std::uintptr_t stream; ///< of the run that writes it
  std::atomic<bool> hasLeft = false;
};

/// Threads may share one. Blocks may outlive it, and the engine.
class OutputMemory : public std::enable_shared_from_this<OutputMemory> {
public:
  /// Keeps at most `mostFree` blocks that nobody uses, the latest.
  OutputMemory(const Engine &engine, std::size_t mostFree);

  /// At least `bytes`, for a run on `stream`: a block that a run on this stream has used is free once it gets there.
  /// Throws Error where the device has no more memory.
  std::shared_ptr<OutputBlock> take(std::size_t bytes, std::uintptr_t stream);

private:
  using Owned = std::unique_ptr<OutputBlock>;

  Owned takeFree(std::size_t bytes, std::uintptr_t stream);
  Owned allocate(std::size_t bytes, std::uintptr_t stream);
  void takeBack(Owned block);

  const Engine &engine;
  std::size_t mostFree;
  std::mutex mutex;
  std::vector<Owned> free; ///< the latest last
};

} // namespace smelt::python
