// How blocks that share the K of a tile come to its sums: each to those of its share of the columns.
//
// Problem: of few tiles and a long K, most multiprocessors would have none. Method: the blocks of a cluster multiply a part of
// K each; once all have, their stages hold what the others send, one share behind the other: to each thread the sums of the
// thread at the same place. Every block adds up, and finishes, as many columns as any other.
//
// Assumes: clusters of `Blocks` blocks along blockIdx.y; one warpgroup for each 64 rows of the tile; no box on its way to the
// stages. Cost: (Blocks - 1) / Blocks of the tile's sums leave each block, and as many arrive; two barriers of the cluster.
// Gain, of four blocks, plain products by turns on one H200: 77x1024x4096 8.4 us (9.9), 197x1024x4096 11.3 (13.3), 77x2048x8192
// 16.5 (19.7). (128x4096x14336, whose weights the cache does not hold, 56 us, and 44 without.)
#pragma once

#include "device/ptx.cuh"
#include "device/types.cuh"

namespace smelt {

/// Of `BlockN` columns; `Threads` multiply, each of which has half as many sums as the tile has columns.
template <class Sum, int BlockN, int Threads, int Blocks> struct ClusterShares {
  static constexpr int kSums = BlockN / 2, kShare = kSums / Blocks; // of a thread
  static constexpr int kShareBytes = kShare * Threads * 4;
  static constexpr int kBytes = (Blocks - 1) * kShareBytes; ///< that arrive in a block

  /// `stages`: what lies at the same place in every block.
  __device__ __forceinline__ static void exchange(Sum (&sums)[kSums], uint32_t stages, int rank) {
    awaitAll();
    staticFor<0, Blocks>([&](auto own) {
      if (own == rank)
        send<own>(sums, stages);
    });
    awaitAll();
    staticFor<0, Blocks>([&](auto own) {
      if (own == rank)
        add<own>(sums, stages);
    });
  }

  /// Of the threads that have no sums.
  __device__ __forceinline__ static void standBy() {
    awaitAll();
    awaitAll();
  }

private:
  __device__ __forceinline__ static void awaitAll() {
    ptx::clusterArrive();
    ptx::clusterWait();
  }

  /// This thread's part of what the `sender`-th of the others sends.
  __device__ __forceinline__ static uint32_t share(uint32_t stages, int sender) {
    return stages + sender * kShareBytes + threadIdx.x * 8;
  }

  template <int Own>
  __device__ __forceinline__ static void send(const Sum (&sums)[kSums], uint32_t stages) {
    staticFor<0, Blocks - 1>([&](auto sender) { // as which this block is known to the peer
      constexpr int kPeer = (Own + Blocks - 1 - sender) % Blocks;
      uint32_t target = ptx::mapToRank(share(stages, sender), kPeer);
#pragma unroll
      for (int i = 0; i < kShare; i += 2)
        ptx::storeCluster(target + i / 2 * Threads * 8, sums[kPeer * kShare + i],
                          sums[kPeer * kShare + i + 1]);
    });
  }

  template <int Own>
  __device__ __forceinline__ static void add(Sum (&sums)[kSums], uint32_t stages) {
    staticFor<0, Blocks - 1>([&](auto sender) {
#pragma unroll
      for (int i = 0; i < kShare; i += 2) {
        Sum first, second;
        ptx::loadShared(share(stages, sender) + i / 2 * Threads * 8, first, second);
        sums[Own * kShare + i] += first;
        sums[Own * kShare + i + 1] += second;
      }
    });
  }
};

} // namespace smelt
