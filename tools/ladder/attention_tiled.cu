// Tiled: tensor cores, and keys that many queries share.
//
// A block owns 64 queries of one head, a warp 16 of them, whose scores, weights and sums stay in registers: the
// weights lie there as the product with V takes them. Steps of 64 keys and values pass through shared memory
// (cp.async, two stages), where 64 queries read them. 64 divides the tokens.
#include "device/tile.cuh"
#include "fragments.cuh"
#include "online_rows.cuh"

using namespace smelt;

constexpr int kHead = 128, kBlock = 64, kThreads = 128, kStages = 2;
using Tile = SharedTile<half, kBlock, kHead>;

/// scores = Q K^T
__device__ __forceinline__ void multiplyKeys(float (&scores)[kBlock / 2], uint32_t queries,
                                             uint32_t keys) {
#pragma unroll
  for (int i = 0; i < kBlock / 2; ++i)
    scores[i] = 0;
#pragma unroll
  for (int d = 0; d < kHead; d += 16) {
    uint32_t a[4];
    loadFragmentA<Tile>(queries, threadIdx.x / 32 * 16, d / 8, a);
#pragma unroll
    for (int j = 0; j < kBlock / 16; ++j) {
      uint32_t b[4];
      loadFragmentBTransposed<Tile>(keys, 16 * j, d / 8, b);
      ptx::mma(reinterpret_cast<float (&)[4]>(scores[8 * j]), a, b[0], b[1], half());
      ptx::mma(reinterpret_cast<float (&)[4]>(scores[8 * j + 4]), a, b[2], b[3], half());
    }
  }
}

/// sums += weights V
__device__ __forceinline__ void
multiplyValues(float (&sums)[kHead / 2], const float (&weights)[kBlock / 2], uint32_t values) {
#pragma unroll
  for (int j = 0; j < kBlock / 16; ++j) {
    uint32_t a[4];
    packWeights(weights, j, a);
#pragma unroll
    for (int d = 0; d < kHead / 16; ++d) {
      uint32_t b[4];
      loadFragmentB<Tile>(values, 16 * j, 2 * d, b);
      ptx::mma(reinterpret_cast<float (&)[4]>(sums[8 * d]), a, b[0], b[1], half());
      ptx::mma(reinterpret_cast<float (&)[4]>(sums[8 * d + 4]), a, b[2], b[3], half());
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, 2)
    ladderAttention(half *o, const half *q, const half *k, const half *v, int tokens, float scale) {
  alignas(128) extern __shared__ char memory[];
  uint32_t queries = ptx::sharedAddress(memory);
  int row0 = blockIdx.x * kBlock, steps = tokens / kBlock;
  int64_t head = int64_t(blockIdx.y) * tokens * kHead;
  auto stage = [&](int step) { return queries + (1 + step % kStages * 2) * Tile::kBytes; };
  auto copy = [&](uint32_t target, const half *from, int row) {
    auto source = [&](int i, int column) { return from + head + int64_t(i) * kHead + column; };
    copyTile<Tile, Along::kRows, 8, kThreads, true, true>(target, source, row, 0, tokens, kHead);
  };
  auto copyStep = [&](int step) {
    if (step < steps) {
      copy(stage(step), k, step * kBlock);
      copy(stage(step) + Tile::kBytes, v, step * kBlock);
    }
    ptx::copyAsyncCommit();
  };
  copy(queries, q, row0);
  copyStep(0);
  OnlineRows rows{scale * 1.4426950408889634f};
  float sums[kHead / 2] = {};
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
    copyStep(step + 1);
    ptx::copyAsyncWait<1>();
    __syncthreads(); // the step has arrived
    float scores[kBlock / 2];
    multiplyKeys(scores, queries, stage(step));
    rows.take(scores, sums);
    multiplyValues(sums, scores, stage(step) + Tile::kBytes);
    __syncthreads(); // nobody reads it any more
  }
  rows.finish(sums);
#pragma unroll
  for (int d = 0; d < kHead / 8; ++d)
    storeSums(o + head + int64_t(row0 + threadIdx.x / 32 * 16) * kHead + 8 * d, kHead,
              sums + 4 * d);
}
