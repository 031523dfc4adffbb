// C = epilogue(A * B) of few rows: operands arrive by tensor maps, and a block has one tile, which all its threads finish.
//
// Problem: with few rows a product takes 3 to 5 us, and half of that is its end. gemm_tma has one warpgroup finish a tile
// of 64 rows, four warps on four schedulers that wait for every load, while the four that copied are idle; gemm_wgmma
// divides a long K over a cluster, but copies with all threads and a barrier a step.
//
// Method
//   - Copies and multiplication are gemm_tma's: one thread asks for boxes, a warpgroup multiplies; all of a short K, or of
//     a cluster's share of a long one, is on its way at once, weights before `griddepcontrol.wait`.
//   - The end is gemm_epilogue.cuh's: sums lie in shared memory as a tile, each block of a cluster owns some of its rows,
//     and the warps that copied finish as many vectors as those that multiplied. What they read, residuals and moments of
//     rows, is asked for before the main loop: a block that never has another tile has registers for it. The warps that
//     copied combine the moments, too, while the others multiply (BERT-base 1x128 1.3 %, ViT-B of one image 1.1 %).
//
// Assumes: as gemm_tma.cuh, for tilings with oneTile; a grid of one block a tile, times clusterK.
// Cost: 2 M N K FLOPs; bytes as gemm.cuh.
// Gain, in models, by turns on one H200: BERT-base 1x128 0.249 ms to 0.222, of which Q, K and V 3 %, the MLP's products 3
// and 3, attention's projection 2; ViT-B of one image 0.316 to 0.290, DistilBERT 8x128 6 % in its products of 768 columns,
// ResNet-50 of one image 5 % in its 256x2304 products. In chains of one kernel most of it is hidden by the next launch.
// Tried without gain: two or four blocks that share their reads (multicast; BERT +0.6 to 2 %), 5 stages so that two blocks
// share a multiprocessor (BERT +2.6 % in Q, K and V), tiles of 48 or 80 columns, clusters of eight; 64 columns for wgmma's rows,
// so that tiles have 16, 32 or 48 rows (of BERT's, MiniLM's and ViT's products two took 1 % of the model less, 25 up to 14 % more:
// of more blocks fewer start early); the kernel after next let start before the wait (BERT +1 %, ViT 4, MiniLM 13), and the weights
// of the next two products asked for, to L2 (BERT +5 %, ViT 3).
#pragma once

#include "kernels/gemm/gemm_tma.cuh"

namespace smelt {

template <class Config, class Left, class Problem>
struct GemmTmaTileTask : GemmTmaTask<Config, Left, Problem> {
  using Base = GemmTmaTask<Config, Left, Problem>;
  using Sums = typename Base::Sums;
  using Split = ClusterSplit<Base::kClusterK>;
  static constexpr int kSumsPerThread = 32; // of few, so that the epilogue's inputs come early
  using Output = TileEpilogue<Problem, Base::kBlockM, Base::kBlockN, Config::kThreads,
                              Base::kClusterK, 1, kSumsPerThread, Base::kConsumers>;
  static_assert(Base::kBlockM == 64 && Base::kTiling.oneTile, "one warpgroup multiplies");

  using Base::Base;

  __device__ __forceinline__ void run() const {
    const bool multiplies = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0) == 0;
    Split::arrive(); // this block runs
    if (threadIdx.x == Base::kConsumers)
      this->produce();
    __syncwarp();
    ptx::gridDependencyWait();
    TileCoordinates tile = this->tileOf(0);
    Output output(this->problem, this->exchange(0), this->rows(0), 0, tile.m * Base::kBlockM,
                  tile.n * Base::kBlockN, this->rank());
    output.beforeMainLoop();
    Sums sums;
    typename Base::Ring ring;
    if (multiplies)
      this->multiply(sums, ring, this->rowsAbove(tile.m), [] {});
    output.afterMainLoop();
    if constexpr (Base::kClusterK > 1)
      Split::wait(); // the other blocks run, too
    if (multiplies)
      output.sendWarpgroup(sums[0]);
    Split::arrive();
    Split::wait(); // all sums have arrived
    output.finish();
  }
};

/// The kernel's body. The maps are parameters of the kernel.
template <class Config, class Left = MatrixRows, class Problem>
__device__ __forceinline__ void gemmTmaTile(const Problem &problem, const TensorMap &mapA,
                                            const TensorMap &mapB, char *sharedMemory) {
  GemmTmaTileTask<Config, Left, Problem> task(problem, mapA, mapB,
                                              ptx::sharedAddress(sharedMemory));
  if (threadIdx.x == 0)
    task.initBarriers();
  __syncthreads();
  task.run();
}

} // namespace smelt
