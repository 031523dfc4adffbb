#include "python/core/output_memory.h"

#include "python/core/stream.h"

#include <algorithm>
#include <bit>

namespace smelt::python {

/// Sizes that differ by less than an eighth share blocks, so that those of a text that grows do.
static std::size_t roundedSize(std::size_t bytes) {
  constexpr std::size_t kLeastStep = 256, kStepsAnOctave = 8;
  std::size_t step = std::max(kLeastStep, std::bit_floor(bytes) / kStepsAnOctave);
  return (bytes + step - 1) / step * step;
}

OutputMemory::OutputMemory(const Engine &engine, std::size_t mostFree)
    : engine(engine), mostFree(mostFree) {
  free.reserve(mostFree + 1); // taking a block back must not fail
}

std::shared_ptr<OutputBlock> OutputMemory::take(std::size_t bytes, std::uintptr_t stream) {
  Owned block = takeFree(bytes, stream);
  if (block == nullptr)
    block = allocate(roundedSize(bytes), stream);
  auto giveBack = [weak = weak_from_this()](OutputBlock *block) {
    Owned owned(block);
    if (std::shared_ptr<OutputMemory> memory = weak.lock())
      memory->takeBack(std::move(owned));
  };
  return {block.release(), giveBack};
}

/// The smallest that is enough, and not more than twice that.
OutputMemory::Owned OutputMemory::takeFree(std::size_t bytes, std::uintptr_t stream) {
  std::lock_guard lock(mutex);
  auto best = free.end();
  for (auto block = free.begin(); block != free.end(); ++block) {
    bool isEnough = (*block)->bytes >= bytes && (*block)->bytes / 2 <= roundedSize(bytes);
    if (isEnough && isSameStream((*block)->stream, stream) &&
        (best == free.end() || (*block)->bytes < (*best)->bytes))
      best = block;
  }
  if (best == free.end())
    return nullptr;
  Owned block = std::move(*best);
  free.erase(best);
  return block;
}

OutputMemory::Owned OutputMemory::allocate(std::size_t bytes, std::uintptr_t stream) {
  try {
    return std::make_unique<OutputBlock>(DeviceMemory(engine, bytes), bytes, stream);
  } catch (const Error &) {
    std::lock_guard lock(mutex);
    if (free.empty())
      throw;
    free.clear();
  }
  return std::make_unique<OutputBlock>(DeviceMemory(engine, bytes), bytes, stream);
}

void OutputMemory::takeBack(Owned block) {
  if (block->hasLeft)
    return;
  Owned oldest; // released after the lock: the driver waits
  std::lock_guard lock(mutex);
  free.push_back(std::move(block));
  if (free.size() <= mostFree)
    return;
  oldest = std::move(free.front());
  free.erase(free.begin());
}

} // namespace smelt::python
