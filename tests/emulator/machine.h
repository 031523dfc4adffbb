// A GPU's blocks of threads as the host runs them: what kernels that were compiled for the host share with the
// machine that runs them (machine.cpp).
//
// The threads of a cluster of blocks take turns, in an order that is drawn anew each round, and some warps are left out
// for some rounds: one runs until it waits for others. What the hardware does some time between asking and waiting happens at either end: of asynchronous copies each
// is drawn, multiplications of warpgroups always come last. So a missing barrier or wait shows as wrong results, a wait
// that nothing ends as a deadlock, and both are reported with the thread and what it was about.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace smelt::emulator {

constexpr int kWarpThreads = 32;
/// A shared address is the block's rank in its cluster above these bits, and a place in the block's shared memory. Some
/// bytes in front of it are the system's, as on the hardware.
constexpr unsigned kRankShift = 24, kReservedShared = 1024;

struct Index3 {
  unsigned x = 0, y = 0, z = 0;
};

/// Where some threads meet: each phase ends when so many have arrived.
struct Barrier {
  int arrived = 0, expected = 0;
  uint64_t phase = 0;
};

/// Where lanes of a warp meet and show each other a value. One for each set of lanes that meet.
struct Exchange {
  static constexpr size_t kBytes = 64;
  uint32_t lanes = 0, arrived = 0;
  uint64_t phase = 0;
  alignas(16) std::byte values[2][kWarpThreads][kBytes]; ///< of phases that are even and odd
};

struct Warp {
  std::list<Exchange> exchanges; ///< they keep their places
};

/// Bytes on their way to shared memory.
struct SharedCopy {
  uint32_t target;
  const void *source; ///< null: zeros
  unsigned bytes;
};

using Work = std::vector<std::function<void()>>;

struct Block;

struct Thread {
  Index3 index;
  unsigned number = 0; ///< in the block
  Block *block = nullptr;
  Warp *warp = nullptr;
  const char *waitsFor = nullptr;
  bool hasEnded = false;
  uint64_t clusterPhase = 0; ///< of the cluster's barrier, at which it has arrived
  // What this thread asked for and has not waited for: groups, and what is no group yet.
  std::deque<std::vector<SharedCopy>> copies = {{}};
  std::deque<Work> multiplications = {{}};

  unsigned lane() const { return number % kWarpThreads; }
};

struct BulkCopy {
  uint32_t barrier;
  std::function<void()> perform;
};

struct Cluster {
  Barrier barrier;
  std::vector<Block> *blocks = nullptr;
  std::vector<BulkCopy> bulkCopies;
};

struct Block {
  Index3 index;
  unsigned rank = 0; ///< in the cluster
  Cluster *cluster = nullptr;
  unsigned threadCount = 0, endedThreads = 0;
  std::array<Barrier, 16> barriers;
  std::vector<Warp> warps;
};

class Machine {
public:
  virtual ~Machine() = default;
  /// Lets other threads run; `current` is this one again when it returns.
  virtual void pause() = 0;
  /// Ends the process, saying what the current thread did wrong.
  [[noreturn]] virtual void fail(const std::string &what) = 0;

  /// The bytes at a shared address, which must be the cluster's and aligned to their number, a power of two.
  std::byte *shared(uint32_t address, unsigned bytes, unsigned alignment) {
    unsigned rank = address >> kRankShift, place = address & ((1u << kRankShift) - 1);
    if (rank >= current->block->cluster->blocks->size() || place < kReservedShared ||
        place + bytes > kReservedShared + sharedBytes)
      fail("reaches beyond its shared memory, at " + std::to_string(address));
    if (place % alignment != 0)
      fail("is not aligned in shared memory, at " + std::to_string(address));
    return sharedMemory + address;
  }

  /// Whether an asynchronous copy happens when it is asked for, not when it is waited for.
  bool happensAtOnce() { return random() >> 8 & 1; }

  template <class Condition> void waitUntil(Condition isMet, const char *what) {
    if (isMet())
      return;
    current->waitsFor = what;
    do
      pause();
    while (!isMet());
    current->waitsFor = nullptr;
    ++progress;
  }

  /// Counts the current thread; `waits`: until all have been counted.
  void meet(Barrier &barrier, int expected, bool waits) {
    if (barrier.arrived != 0 && barrier.expected != expected)
      fail("meets others at a barrier that expect another number of threads");
    barrier.expected = expected;
    uint64_t phase = barrier.phase;
    if (++barrier.arrived == expected)
      endPhase(barrier);
    if (waits)
      waitUntil([&] { return barrier.phase != phase; }, "a barrier");
  }

  /// The same for all threads of the block that have not ended.
  void meetAll() {
    Barrier &barrier = current->block->barriers[0];
    uint64_t phase = barrier.phase;
    ++barrier.arrived;
    endPhaseOfAll(*current->block);
    waitUntil([&] { return barrier.phase != phase; }, "all threads of its block");
  }

  void endPhaseOfAll(Block &block) {
    Barrier &barrier = block.barriers[0];
    if (barrier.arrived > 0 && barrier.arrived == int(block.threadCount - block.endedThreads))
      endPhase(barrier);
  }

  void endPhase(Barrier &barrier) {
    barrier.arrived = 0;
    ++barrier.phase;
    ++progress;
  }

  /// What every one of `lanes` has given, once all of them have.
  template <class T> std::array<T, kWarpThreads> exchange(uint32_t lanes, const T &value) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= Exchange::kBytes);
    unsigned lane = current->lane();
    if (!(lanes >> lane & 1))
      fail("names lanes to exchange with and is none of them");
    Exchange &meeting = exchangeOf(lanes);
    uint64_t phase = meeting.phase;
    auto &values = meeting.values[phase % 2];
    std::memcpy(values[lane], &value, sizeof(T));
    meeting.arrived |= 1u << lane;
    if (meeting.arrived == lanes) {
      meeting.arrived = 0;
      ++meeting.phase;
      ++progress;
    }
    waitUntil([&] { return meeting.phase != phase; }, "lanes of its warp");
    std::array<T, kWarpThreads> all{};
    for (int i = 0; i < kWarpThreads; ++i)
      if (lanes >> i & 1)
        std::memcpy(&all[i], values[i], sizeof(T));
    return all;
  }

  Thread *current = nullptr;
  Index3 gridSize, blockSize;
  std::byte *sharedMemory = nullptr; ///< of the cluster, at shared address 0
  unsigned sharedBytes = 0;          ///< dynamic ones, of a block
  uint64_t progress = 0;             ///< grows whenever a wait ends
  std::minstd_rand random;           ///< the same in each process

private:
  Exchange &exchangeOf(uint32_t lanes) {
    for (Exchange &known : current->warp->exchanges)
      if (known.lanes == lanes)
        return known;
    Exchange &added = current->warp->exchanges.emplace_back();
    added.lanes = lanes;
    return added;
  }
};

/// A kernel that was compiled for the host, called by each of its threads; `parameters` points to each of them.
using HostKernel = void (*)(Machine &machine, void *const *parameters);

struct KernelLaunch {
  std::string name;
  HostKernel kernel = nullptr;
  Index3 grid, block, cluster;
  unsigned sharedBytes = 0;
  std::vector<void *> parameters = {};
};

/// Runs all blocks, a cluster after the other.
void run(const KernelLaunch &launch);

} // namespace smelt::emulator
