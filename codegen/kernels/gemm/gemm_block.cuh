// One block of a GEMM kernel: which tile of C it computes, which part of K, and in which order.
//
// Problem: the templates differ in their main loops only. What a block does around them is here:
// the order of the tiles, the split of K over a cluster, and the steps from the first copy to the
// last store. Method: a Task supplies the main loop (`multiply`) and sends its sums (`sendSums`);
// the pipeline and the epilogue are the same for all.
#pragma once

#include "device/direction.cuh"
#include "device/tile.cuh"
#include "kernels/gemm/gemm_epilogue.cuh"
#include "kernels/gemm/gemm_pipeline.cuh"

namespace smelt {

struct TileCoordinates {
  int m, n;
};

/// Tile `index` of tilesM x tilesN in bands of `Band` tile rows, walked down the band first: blocks
/// that run together share few rows of A and few columns of B, which then come from L2.
template <int Band = 8>
__device__ __forceinline__ TileCoordinates rasterize(int index, int tilesM, int tilesN) {
  int band = index / (Band * tilesN);
  int height = min(Band, tilesM - band * Band);
  int within = index - band * Band * tilesN;
  return {band * Band + within % height, within / height};
}

/// The part of K that one block of a cluster of `Size` multiplies, and the barriers around the
/// exchange; a block alone takes all of K.
template <int Size> struct ClusterSplit {
  static_assert(Size == 1 || SMELT_HAS_CLUSTERS, "clusters need sm_90");
  int rank;
  int first, count; // steps of K

  __device__ __forceinline__ ClusterSplit(int rank, int steps) : rank(0), first(0), count(steps) {
    if constexpr (Size > 1) {
      this->rank = rank;
      first = rank * (steps / Size) + min(rank, steps % Size);
      count = steps / Size + (rank < steps % Size);
    }
  }

  __device__ __forceinline__ static void arrive() {
    if constexpr (Size > 1)
      ptx::clusterArrive();
  }
  __device__ __forceinline__ static void wait() {
    if constexpr (Size > 1)
      ptx::clusterWait();
    else
      __syncthreads();
  }
};

/// Computes a tile, with the cluster's other blocks.
template <class Task, class Problem>
__device__ __forceinline__ void computeTile(const Problem &problem, uint32_t shared, int batch,
                                            TileCoordinates tile,
                                            const ClusterSplit<Task::kClusterK> &split) {
  int row0 = tile.m * Task::kBlockM, column0 = tile.n * Task::kBlockN;
  uint32_t rows = shared + Task::kSharedBytes, exchange = rows - Task::kTiling.exchangeBytes();
  Task task;
  typename Task::Output output(problem, exchange, rows, batch, row0, column0, split.rank);
  typename Task::Pipeline pipeline{problem, shared, batch, row0, column0, split.first, split.count};
  split.arrive(); // this block runs, and has read the exchange buffer of its previous tile
  pipeline.fill();
  output.beforeMainLoop();
  task.multiply(pipeline);
  output.afterMainLoop();
  split.wait(); // nobody needs the memory under the exchange buffer any more
  task.sendSums(output);
  split.arrive();
  split.wait(); // all sums have arrived
  output.finish();
  __syncthreads(); // the next tile's copies overwrite the stages and the exchange buffer
}

/// The kernel's body: this block's tile of C, for every batch that its grid column serves. Shared
/// memory: Task::kSharedBytes, and kRowMoments * sizeof(RowStatistics) for each row of the tile.
template <class Task, class Problem>
__device__ __forceinline__ void multiplyMatrices(const Problem &problem, char *sharedMemory) {
  uint32_t shared = ptx::sharedAddress(sharedMemory);
  TileCoordinates tile =
      rasterize(inDirection(problem.reversed, blockIdx.x, gridDim.x),
                ceilDiv(problem.m(), Task::kBlockM), ceilDiv(problem.n(), Task::kBlockN));
  ClusterSplit<Task::kClusterK> split(blockIdx.y, ceilDiv(problem.k(), Task::kBlockK));
  for (int batch = blockIdx.z; batch < problem.batches(); batch += gridDim.z)
    computeTile<Task>(problem, shared, batch, tile, split);
}

} // namespace smelt
