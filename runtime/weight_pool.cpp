#include "runtime/weight_pool.h"

#include "runtime/checked_math.h"
#include "runtime/text.h"

#include <algorithm>

namespace smelt::runtime {

WeightPool::Key WeightPool::keyOf(const plan::WeightT &weight) {
  return {weight.content.low(), weight.content.high(), weight.data.size()};
}

/// Plans before 3.5 do not say which bytes their weights have.
static bool isKnown(const plan::WeightT &weight) {
  return weight.content.low() != 0 || weight.content.high() != 0;
}

void WeightPool::forgetReleased() {
  std::erase_if(entries, [](const auto &entry) { return entry.second.block.expired(); });
}

/// The weight of another engine that this one can be; null where there is none.
const WeightPool::Entry *WeightPool::find(const plan::WeightT &weight, bool isOnlyOne) const {
  auto [begin, end] = entries.equal_range(keyOf(weight));
  auto named =
      std::find_if(begin, end, [&](const auto &entry) { return entry.second.name == weight.name; });
  if (named != end)
    return &named->second;
  bool isSingle = begin != end && std::next(begin) == end;
  return isSingle && isOnlyOne ? &begin->second : nullptr;
}

Result<PlacedWeights> WeightPool::place(const Plan &plan, const std::vector<bool> &isUsed,
                                        const SharedDevice &device,
                                        const DeviceAllocator &allocator,
                                        const LoadProgressHandler &progress) {
  std::lock_guard lock(mutex);
  forgetReleased();
  const auto &weights = plan.metadata().weights;
  std::map<Key, size_t> counts;
  for (const auto &weight : weights)
    ++counts[keyOf(*weight)];
  PlacedWeights placed;
  placed.addresses.assign(isUsed.size(), 0);
  std::vector<size_t> missing;
  for (size_t i = 0; i < isUsed.size(); ++i) {
    if (!isUsed[i])
      continue;
    const Entry *found =
        isKnown(*weights[i]) ? find(*weights[i], counts[keyOf(*weights[i])] == 1) : nullptr;
    std::shared_ptr<const DeviceMemory> block = found ? found->block.lock() : nullptr;
    if (block == nullptr) {
      missing.push_back(i);
      continue;
    }
    placed.addresses[i] = found->address;
    placed.sharedBytes += weights[i]->data.size();
    if (std::find(placed.blocks.begin(), placed.blocks.end(), block) == placed.blocks.end())
      placed.blocks.push_back(std::move(block));
  }
  SMELT_RETURN_IF_ERROR(upload(plan, missing, device, allocator, progress, placed));
  return placed;
}

/// Queues the copies of these weights, in pieces, and tells how much is done before each.
static Status copyWeights(const Plan &plan, const std::vector<size_t> &missing,
                          const std::vector<CUdeviceptr> &addresses, const DriverApi &api,
                          CUstream stream, const LoadProgressHandler &progress) {
  const auto &weights = plan.metadata().weights;
  uint64_t done = 0, total = 0;
  for (size_t i : missing)
    total += weights[i]->data.size();
  for (size_t i : missing) {
    std::span<const std::byte> bytes = plan.bytes(*weights[i]);
    for (uint64_t next = 0; next < bytes.size();) {
      SMELT_RETURN_IF_ERROR(tell(progress, {"weights", done, total}));
      uint64_t size = std::min(kLoadProgressBytes, bytes.size() - next);
      SMELT_RETURN_IF_CUDA_ERROR(api, joinText("uploading the weight '", weights[i]->name, "'"),
                                 cuMemcpyHtoDAsync, addresses[i] + next, bytes.data() + next, size,
                                 stream);
      next += size;
      done += size;
    }
  }
  return {};
}

/// Allocates these weights one behind the other, and copies them there.
Status WeightPool::upload(const Plan &plan, const std::vector<size_t> &missing,
                          const SharedDevice &device, const DeviceAllocator &allocator,
                          const LoadProgressHandler &progress, PlacedWeights &placed) {
  const auto &weights = plan.metadata().weights;
  for (size_t i : missing) // sizes are bounded by the file, so the sum cannot overflow
    placed.uploadedBytes += *checkedAlign(weights[i]->data.size(), plan::kWeightBytes);
  SMELT_ASSIGN_OR_RETURN(
      DeviceMemory memory,
      DeviceMemory::allocate(device, allocator, placed.uploadedBytes, "the model's weights"));
  auto block = std::make_shared<const DeviceMemory>(std::move(memory));
  const DriverApi &api = device->api();
  SMELT_ASSIGN_OR_RETURN(OwnStream stream, OwnStream::create(api));
  CUdeviceptr next = block->address();
  uint64_t bytes = 0;
  for (size_t i : missing) {
    placed.addresses[i] = next;
    next += *checkedAlign(weights[i]->data.size(), plan::kWeightBytes);
    bytes += weights[i]->data.size();
  }
  Status copied = copyWeights(plan, missing, placed.addresses, api, stream.get(), progress);
  CUresult waited = api.cuStreamSynchronize(stream.get()); // what failed goes back to the allocator
  SMELT_RETURN_IF_ERROR(copied);
  if (waited != CUDA_SUCCESS)
    return cudaFailure(api, waited, "cuStreamSynchronize", "uploading the weights");
  if (bytes > 0)
    SMELT_RETURN_IF_ERROR(tell(progress, {"weights", bytes, bytes}));
  for (size_t i : missing)
    if (isKnown(*weights[i]))
      entries.emplace(keyOf(*weights[i]), Entry{weights[i]->name, placed.addresses[i], block});
  placed.blocks.push_back(std::move(block));
  return {};
}

void WeightPool::update(CUdeviceptr address) {
  std::lock_guard lock(mutex);
  std::erase_if(entries, [&](const auto &entry) { return entry.second.address == address; });
  ++updates;
}

} // namespace smelt::runtime
