// The weights of engines on one device: those that several engines have lie there once.
#pragma once

#include "runtime/device.h"
#include "runtime/load_progress.h"
#include "runtime/read_plan.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace smelt::runtime {

/// Where the weights of one engine lie. Memory that it shares is released with the last engine that
/// has a part in it.
struct PlacedWeights {
  std::vector<CUdeviceptr> addresses; ///< of Metadata.weights; 0 for those that are not used
  std::vector<std::shared_ptr<const DeviceMemory>> blocks;
  uint64_t uploadedBytes = 0;
  uint64_t sharedBytes = 0; ///< of other engines' weights
};

/// Thread-safe. Weights of two engines are one where they have the same bytes and name, or, where no
/// other weight of either has these bytes, the same bytes: biases that all are zeros still are weights
/// of their own, which updates tell apart. A weight that was updated is shared with no more engines.
/// Which bytes a weight has is the plan's word: one that lies gets as many bytes of another.
class WeightPool {
public:
  /// Finds or uploads the weights that are used. The device's context must be current. `progress` hears
  /// of the bytes that are uploaded, and must not make the pool place others meanwhile.
  Result<PlacedWeights> place(const Plan &plan, const std::vector<bool> &isUsed,
                              const SharedDevice &device, const DeviceAllocator &allocator,
                              const LoadProgressHandler &progress = {});

  /// The weight at this address gets other bytes.
  void update(CUdeviceptr address);

  /// How many updates there were; what was computed of weights before the last is out of date.
  uint64_t version() const { return updates; }

private:
  struct Key {
    uint64_t low, high, bytes;
    auto operator<=>(const Key &) const = default;
  };
  struct Entry {
    std::string name;
    CUdeviceptr address = 0;
    std::weak_ptr<const DeviceMemory> block;
  };
  static Key keyOf(const plan::WeightT &weight);
  void forgetReleased();
  const Entry *find(const plan::WeightT &weight, bool isOnlyOne) const;
  Status upload(const Plan &plan, const std::vector<size_t> &missing, const SharedDevice &device,
                const DeviceAllocator &allocator, const LoadProgressHandler &progress,
                PlacedWeights &placed);

  std::mutex mutex; ///< of the entries, also while weights are uploaded: nobody uploads them twice
  std::multimap<Key, Entry> entries;
  std::atomic<uint64_t> updates = 0;
};

} // namespace smelt::runtime
