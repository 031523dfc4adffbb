#include "tests/emulator/machine.h"

#include <algorithm>
#include <boost/context/fiber.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>

namespace smelt::emulator {

namespace {

namespace context = boost::context;

constexpr size_t kStackBytes = 256 << 10;
constexpr unsigned kMaxClusterBlocks = 16;
constexpr int kPoison = 0xff; ///< what shared memory holds at first: NaN, -1

/// Shared memory of the largest cluster, of whose pages those exist that were touched.
std::byte *reserveSharedMemory() {
  void *memory = mmap(nullptr, size_t(kMaxClusterBlocks) << kRankShift, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw std::bad_alloc();
  return static_cast<std::byte *>(memory);
}

unsigned count(Index3 size) { return size.x * size.y * size.z; }

Index3 indexOf(unsigned number, Index3 size) {
  return {number % size.x, number / size.x % size.y, number / size.x / size.y};
}

/// The threads of one cluster after the other.
class FiberMachine final : public Machine {
public:
  FiberMachine() : stacks(kStackBytes) { sharedMemory = reserveSharedMemory(); }

  void run(const KernelLaunch &given) {
    launch = &given;
    gridSize = given.grid, blockSize = given.block, sharedBytes = given.sharedBytes;
    Index3 size = given.cluster,
           clusters = {given.grid.x / size.x, given.grid.y / size.y, given.grid.z / size.z};
    for (unsigned number = 0; number < count(clusters); ++number)
      runCluster(indexOf(number, clusters));
  }

  void pause() override { returnTo = std::move(returnTo).resume(); }

  [[noreturn]] void fail(const std::string &what) override {
    std::fprintf(stderr, "emulator: %s: block (%u, %u, %u), thread %u %s\n", launch->name.c_str(),
                 current->block->index.x, current->block->index.y, current->block->index.z,
                 current->number, what.c_str());
    std::fflush(stderr);
    std::abort();
  }

private:
  void runCluster(Index3 cluster);
  void placeBlocks(Index3 cluster);
  void startThreads();
  void runThreads();
  using Lanes = std::vector<unsigned>; ///< threads of one warp that have not ended
  void runLanes(Lanes &lanes);
  void letSleep(bool allWakeUp);
  void endThread(Thread &thread);
  void checkNothingIsLeft();

  const KernelLaunch *launch = nullptr;
  context::pooled_fixedsize_stack stacks;
  Cluster cluster;
  std::vector<Block> blocks;
  std::vector<Thread> threads;
  std::vector<context::fiber> fibers; ///< of the threads
  std::vector<Lanes> awake;           ///< the warps that take turns
  std::deque<Lanes> asleep;           ///< those that stay behind
  context::fiber returnTo;            ///< who resumed the thread that runs
};

void FiberMachine::placeBlocks(Index3 origin) {
  Index3 size = launch->cluster;
  cluster = {};
  blocks.assign(count(size), {});
  cluster.blocks = &blocks;
  for (unsigned rank = 0; rank < blocks.size(); ++rank) {
    Index3 within = indexOf(rank, size);
    Block &block = blocks[rank];
    block.index = {origin.x * size.x + within.x, origin.y * size.y + within.y,
                   origin.z * size.z + within.z};
    block.rank = rank;
    block.cluster = &cluster;
    block.threadCount = count(blockSize);
    block.warps.resize((block.threadCount + kWarpThreads - 1) / kWarpThreads);
    std::memset(sharedMemory + (size_t(rank) << kRankShift) + kReservedShared, kPoison,
                sharedBytes);
  }
}

void FiberMachine::startThreads() {
  unsigned perBlock = count(blockSize);
  threads.assign(perBlock * blocks.size(), {});
  fibers.clear();
  awake.assign(blocks.size() * blocks[0].warps.size(), {});
  for (unsigned i = 0; i < threads.size(); ++i) {
    Thread &thread = threads[i];
    thread.number = i % perBlock;
    thread.index = indexOf(thread.number, blockSize);
    thread.block = &blocks[i / perBlock];
    thread.warp = &thread.block->warps[thread.number / kWarpThreads];
    fibers.emplace_back(std::allocator_arg, stacks, [this, &thread](context::fiber &&caller) {
      returnTo = std::move(caller);
      launch->kernel(*this, launch->parameters.data());
      endThread(thread);
      return std::move(returnTo);
    });
    awake[i / perBlock * blocks[0].warps.size() + thread.number / kWarpThreads].push_back(i);
  }
}

void FiberMachine::endThread(Thread &thread) {
  thread.hasEnded = true;
  ++progress;
  ++thread.block->endedThreads;
  endPhaseOfAll(*thread.block); // who has ended is not waited for
}

void FiberMachine::runThreads() {
  while (!awake.empty() || !asleep.empty()) {
    uint64_t before = progress;
    std::shuffle(awake.begin(), awake.end(), random);
    for (Lanes &lanes : awake)
      runLanes(lanes);
    if (progress == before && asleep.empty()) {
      current = &threads[awake.front().front()];
      fail(std::string("waits for ever, for ") + current->waitsFor);
    }
    letSleep(progress == before);
  }
}

void FiberMachine::runLanes(Lanes &lanes) {
  std::shuffle(lanes.begin(), lanes.end(), random);
  for (unsigned i : lanes) {
    current = &threads[i];
    fibers[i] = std::move(fibers[i]).resume();
  }
  std::erase_if(lanes, [this](unsigned i) { return threads[i].hasEnded; });
}

/// Some warps stay behind for some rounds, so that others run far ahead; all wake up where these wait.
void FiberMachine::letSleep(bool allWakeUp) {
  constexpr unsigned kOneOf = 16;
  std::erase_if(awake, [](const Lanes &lanes) { return lanes.empty(); });
  bool oneWakesUp = random() % 4 == 0;
  while (!asleep.empty() && (allWakeUp || oneWakesUp || awake.empty())) {
    awake.push_back(std::move(asleep.front()));
    asleep.pop_front();
    oneWakesUp = false;
  }
  for (size_t i = 0; i < awake.size() && !allWakeUp; ++i)
    if (awake.size() > 1 && random() % kOneOf == 0) {
      asleep.push_back(std::move(awake[i]));
      awake.erase(awake.begin() + std::ptrdiff_t(i));
    }
}

void FiberMachine::checkNothingIsLeft() {
  for (Thread &thread : threads) {
    current = &thread;
    if (thread.multiplications.size() > 1 || !thread.multiplications.back().empty())
      fail("ends before its multiplications");
  }
  if (!cluster.bulkCopies.empty())
    fail("ends before its bulk copies");
}

void FiberMachine::runCluster(Index3 origin) {
  placeBlocks(origin);
  startThreads();
  runThreads();
  checkNothingIsLeft();
}

} // namespace

void run(const KernelLaunch &launch) {
  static FiberMachine machine;
  machine.run(launch);
}

} // namespace smelt::emulator
