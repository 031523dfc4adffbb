#include "runtime/block_placement.h"

#include <algorithm>
#include <array>

namespace smelt::runtime {

/// Kernels whose blocks come to more for each multiprocessor have enough of them for all.
constexpr uint64_t kMostShare = 3;
constexpr uint32_t kSharedGranularity = 128; ///< bytes, in which shared memory is given out

static uint64_t roundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

static uint64_t takenBy(const Multiprocessors &device, uint32_t sharedBytes) {
  return roundUp(sharedBytes, kSharedGranularity) + device.reservedBytes;
}

BlockPlacement placeBlocks(const Multiprocessors &device, KernelBlocks before,
                           KernelBlocks blocks) {
  struct Group { // of multiprocessors that are alike
    uint64_t size, room, placed;
  };
  uint64_t all = static_cast<uint64_t>(device.count), evenly = before.count / all;
  auto roomBeside = [&](uint64_t others) {
    uint64_t taken = others * takenBy(device, before.sharedBytes);
    return taken < device.sharedBytes
               ? (device.sharedBytes - taken) / takenBy(device, blocks.sharedBytes)
               : 0;
  };
  std::array<Group, 2> groups = {Group{before.count % all, roomBeside(evenly + 1), 0},
                                 Group{all - before.count % all, roomBeside(evenly), 0}};
  BlockPlacement placement = {0, blocks.count};
  while (placement.late > 0) {
    bool takesFirst = groups[0].room != groups[1].room ? groups[0].room > groups[1].room
                                                       : groups[0].placed < groups[1].placed;
    Group &next = groups[groups[0].size > 0 && takesFirst ? 0 : 1];
    if (next.room == 0)
      break;
    --next.room;
    placement.most = std::max(placement.most, ++next.placed);
    placement.late -= std::min(placement.late, next.size);
  }
  return placement;
}

/// The least shared memory of which a multiprocessor holds `count` blocks and no more.
static uint32_t leastBytesFor(const Multiprocessors &device, uint64_t count) {
  uint64_t tooLarge = device.sharedBytes / (count + 1) + 1;
  return static_cast<uint32_t>(roundUp(tooLarge - device.reservedBytes, kSharedGranularity));
}

uint32_t spreadingBytes(const Multiprocessors &device, KernelBlocks before, KernelBlocks blocks) {
  uint64_t all = static_cast<uint64_t>(device.count), share = (blocks.count + all - 1) / all;
  if (blocks.sharedBytes < kLeastPlacedBytes || before.count == 0 || share == 0 ||
      share > kMostShare)
    return blocks.sharedBytes;
  auto crowding = [&](uint32_t sharedBytes) {
    BlockPlacement placement = placeBlocks(device, before, {blocks.count, sharedBytes});
    return std::pair(std::max(placement.most, share), placement.late);
  };
  uint32_t best = blocks.sharedBytes;
  auto least = crowding(best);
  uint64_t fitting = device.sharedBytes / takenBy(device, blocks.sharedBytes);
  for (uint64_t count = fitting; least.first > share && count-- > share;) {
    uint32_t bytes = leastBytesFor(device, count);
    if (auto found = crowding(bytes); found < least) {
      least = found;
      best = bytes;
    }
  }
  return best;
}

uint32_t mostSpreadingBytes(const Multiprocessors &device) { return leastBytesFor(device, 1); }

void spreadBlocks(const Multiprocessors &device, const LaunchTable &table, Schedule &schedule) {
  KernelBlocks before;
  for (uint32_t i = 0; i < schedule.launches.size(); ++i) {
    ScheduledLaunch &launch = schedule.launches[i];
    const plan::KernelNodeT *kernel = table[launch.id].kernel();
    if (kernel == nullptr) {
      before = {};
      continue;
    }
    const uint32_t *first = schedule.dependencies.data() + launch.firstDependency;
    bool follows =
        std::find(first, first + launch.dependencyCount, i - 1) != first + launch.dependencyCount;
    KernelBlocks blocks = {uint64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2],
                           launch.sharedBytes};
    if (kernel->programmatic && follows)
      launch.sharedBytes = blocks.sharedBytes = spreadingBytes(device, before, blocks);
    before = blocks;
  }
}

} // namespace smelt::runtime
