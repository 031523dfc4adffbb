// Warp-specialised: wgmma and TMA; one thread asks, two warpgroups compute.
//
// A block owns 128 queries of one head, each of two warpgroups 64 of them. One thread of a third warpgroup asks for
// boxes of keys and values, 128 of each a step, two stages deep; the others wait for those ("full") and say when
// they have read them ("empty"), and for nothing else: while one of them computes exponentials, the other
// one multiplies. Rows of 128 elements lie in two panels of 64, the width that boxes have. 128 divides the tokens.
#include "device/mbarrier.cuh"
#include "device/tma.cuh"
#include "device/wgmma.cuh"
#include "fragments.cuh"
#include "online_rows.cuh"

using namespace smelt;

constexpr int kHead = 128, kBlock = 128, kGroup = 64, kConsumers = 256, kStages = 2, kPanel = 64;
constexpr int kRowBytes = 128, kGroupRows = 8, kUnused = 16;
constexpr int kQueryBytes = kGroup * kHead * 2, kTileBytes = kBlock * kHead * 2;

struct Block {
  uint32_t shared; ///< queries of both groups, stages of keys and values, barriers
  int head, row;   ///< the first rows of the head and of the queries in the matrices of all heads
  int steps;

  __device__ __forceinline__ uint32_t queries(int group) const {
    return shared + group * kQueryBytes;
  }
  __device__ __forceinline__ uint32_t keys(int stage) const {
    return queries(2) + stage * 2 * kTileBytes;
  }
  __device__ __forceinline__ uint32_t values(int stage) const { return keys(stage) + kTileBytes; }
  __device__ __forceinline__ uint32_t queriesFull() const { return keys(kStages); }
  __device__ __forceinline__ uint32_t full(int stage) const {
    return queriesFull() + (1 + stage) * mbarrier::kBytes;
  }
  __device__ __forceinline__ uint32_t empty(int stage) const { return full(kStages + stage); }
};

/// Asks for whole rows, panel by panel.
template <int Rows>
__device__ __forceinline__ void copyRows(uint32_t target, const TensorMap &map, int row,
                                         uint32_t full) {
#pragma unroll
  for (int panel = 0; panel < kHead / kPanel; ++panel)
    tma::copyBox(target + panel * Rows * kRowBytes, map, panel * kPanel, row, full);
}

__device__ __forceinline__ void produce(const Block &block, const TensorMap &q, const TensorMap &k,
                                        const TensorMap &v) {
  mbarrier::arriveExpecting(block.queriesFull(), 2 * kQueryBytes);
  for (int group = 0; group < 2; ++group)
    copyRows<kGroup>(block.queries(group), q, block.row + group * kGroup, block.queriesFull());
  RingPosition<kStages> ring;
#pragma unroll 1
  for (int step = 0; step < block.steps; ++step, ring.advance()) {
    mbarrier::wait(block.empty(ring.stage), ring.parity ^ 1);
    mbarrier::arriveExpecting(block.full(ring.stage), 2 * kTileBytes);
    int row = block.head + step * kBlock;
    copyRows<kBlock>(block.keys(ring.stage), k, row, block.full(ring.stage));
    copyRows<kBlock>(block.values(ring.stage), v, row, block.full(ring.stage));
  }
}

/// scores = Q K^T
__device__ __forceinline__ void multiplyKeys(float (&scores)[kBlock / 2], uint32_t queries,
                                             uint32_t keys) {
  wgmma::Operand q = wgmma::describe<kRowBytes>(queries, kGroupRows * kRowBytes, kUnused);
  wgmma::Operand k = wgmma::describe<kRowBytes>(keys, kGroupRows * kRowBytes, kUnused);
  wgmma::pin(scores);
  wgmma::fence();
  staticFor<0, kHead / 16>([&](auto d) {
    constexpr int kOf = d * 16 / kPanel, kInside = d * 16 % kPanel * 2;
    wgmma::Multiply<kBlock, half, half, false>::template run<(d > 0)>(
        scores, q.at(kOf * kGroup * kRowBytes + kInside), k.at(kOf * kBlock * kRowBytes + kInside));
  });
  wgmma::commit();
  wgmma::wait<0>();
  wgmma::pin(scores);
}

/// sums += weights V
__device__ __forceinline__ void
multiplyValues(float (&sums)[kHead / 2], uint32_t (&weights)[kBlock / 16][4], uint32_t values) {
  wgmma::Operand v = wgmma::describe<kRowBytes>(values, kGroupRows * kRowBytes, kBlock * kRowBytes);
  wgmma::pin(sums);
  wgmma::pin(weights);
  wgmma::fence();
  staticFor<0, kBlock / 16>([&](auto j) {
    wgmma::Multiply<kHead, half, half, true>::run(sums, weights[j], v.at(j * 16 * kRowBytes));
  });
  wgmma::commit();
  wgmma::wait<0>();
  wgmma::pin(sums);
}

__device__ __forceinline__ void consume(const Block &block, half *o, float scale, int group) {
  OnlineRows rows{scale * 1.4426950408889634f};
  float sums[kHead / 2] = {}, scores[kBlock / 2];
#pragma unroll
  for (int i = 0; i < kBlock / 2; ++i)
    scores[i] = 0;
  uint32_t weights[kBlock / 16][4];
  RingPosition<kStages> ring;
  mbarrier::wait(block.queriesFull(), 0);
#pragma unroll 1
  for (int step = 0; step < block.steps; ++step, ring.advance()) {
    mbarrier::wait(block.full(ring.stage), ring.parity);
    multiplyKeys(scores, block.queries(group), block.keys(ring.stage));
    rows.take(scores, sums);
    staticFor<0, kBlock / 16>([&](auto j) { packWeights(scores, j, weights[j]); });
    multiplyValues(sums, weights, block.values(ring.stage));
    if (threadIdx.x % 32 == 0)
      mbarrier::arrive(block.empty(ring.stage));
  }
  rows.finish(sums);
  half *target = o + int64_t(block.row + threadIdx.x / 32 * 16) * kHead;
#pragma unroll
  for (int d = 0; d < kHead / 8; ++d)
    storeSums(target + 8 * d, kHead, sums + 4 * d);
}

extern "C" __global__ void __launch_bounds__(kConsumers + 128, 1)
    ladderAttention(half *o, const __grid_constant__ TensorMap q,
                    const __grid_constant__ TensorMap k, const __grid_constant__ TensorMap v,
                    int tokens, float scale) {
  alignas(1024) extern __shared__ char memory[];
  int head = blockIdx.y * tokens;
  Block block = {ptx::sharedAddress(memory), head, head + int(blockIdx.x) * kBlock,
                 tokens / kBlock};
  if (threadIdx.x == 0) {
    mbarrier::init(block.queriesFull(), 1);
    for (int i = 0; i < kStages; ++i) {
      mbarrier::init(block.full(i), 1);
      mbarrier::init(block.empty(i), kConsumers / 32);
    }
    mbarrier::publishInit();
  }
  __syncthreads();
  int group = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);
  if (group == kConsumers / 128) {
    wgmma::lowerRegisters<24>();
    if (threadIdx.x == kConsumers)
      produce(block, q, k, v);
  } else {
    wgmma::raiseRegisters<240>();
    consume(block, o, scale, group);
  }
}
