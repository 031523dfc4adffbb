// Kernels with reductions along rows: norms, softmax, sums, with what stands before and after them.
//
// Problem: a chain such as embedding lookup, sum, layer norm reads its row several times if each
// step is a kernel; in one kernel the row is read once and written once. Method: kThreadsPerRow
// threads hold a row in registers, as kChunks vectors of kWidth columns each; all reductions work
// on them. Rows of up to 32 threads need shuffles only; longer ones go through shared memory once a
// reduction. Rows whose length is unknown or too long for registers are read again for each
// reduction, mostly from L1 and L2 (the generated loops differ, the template does not).
//
// A Problem supplies
//   static constexpr int kThreadsPerRow    a power of two up to 1024
//   static constexpr int kRowsPerBlock     1 where kThreadsPerRow > 32
//   int rows() const
//   int reversed                           device/direction.cuh
//   template <class Tile> void run(const Tile &tile, int row)
// Blocks have kThreadsPerRow * kRowsPerBlock threads, a multiple of 32.
#pragma once

#include "device/arithmetic.cuh"
#include "device/direction.cuh"
#include "device/reduce.cuh"
#include "device/vector.cuh"

namespace smelt {

/// x - mean, rounded by itself: with a product that x is it would become one operation, and the elements of a row that are all
/// the same would deviate from their mean.
__device__ __forceinline__ float deviation(float x, float mean) { return __fsub_rn(x, mean); }
__device__ __forceinline__ double deviation(double x, double mean) { return __dsub_rn(x, mean); }

/// The threads of one row.
template <int ThreadsPerRow> struct RowTile {
  static_assert(ThreadsPerRow <= 1024 && (ThreadsPerRow & (ThreadsPerRow - 1)) == 0,
                "a row takes a power of two of threads");
  int lane;      // of the thread in the row
  bool isActive; // false: a copy of another row's threads, which fills up a warp
  void *scratch; // 32 values in shared memory

  /// To be called once, before the first access to memory that another kernel touches; scales and
  /// biases are loaded before it.
  __device__ __forceinline__ void waitForEarlierKernels() const {
    ptx::gridDependencyWait();
    ptx::gridDependencyLaunch();
  }

  /// First column of this thread's vector number `chunk`.
  template <int Width> __device__ __forceinline__ int column(int chunk) const {
    return (chunk * ThreadsPerRow + lane) * Width;
  }

  /// Combines one value of each thread; all receive the result.
  template <class Op, class T> __device__ __forceinline__ T reduce(T value) const {
    if constexpr (ThreadsPerRow <= 32)
      return warpReduce<Op, ThreadsPerRow>(value);
    else
      return blockReduce<Op, ThreadsPerRow>(value, static_cast<T *>(scratch));
  }
};

template <class Problem> __device__ __forceinline__ void rowwise(const Problem &problem) {
  constexpr int kThreads = Problem::kThreadsPerRow;
  static_assert(kThreads <= 32 || Problem::kRowsPerBlock == 1, "long rows fill a block");
  __shared__ double scratch[32];
  // The last block's rows may lie beyond 2^31.
  unsigned block = inDirection(problem.reversed, blockIdx.x, gridDim.x);
  unsigned row = block * Problem::kRowsPerBlock + threadIdx.x / kThreads;
  unsigned rows = problem.rows();
  bool isActive = row < rows;
  if (kThreads >= 32 && !isActive) // whole warps: nobody waits for them
    return;
  RowTile<kThreads> tile{int(threadIdx.x % kThreads), isActive, scratch};
  problem.run(tile, isActive ? row : rows - 1);
}

} // namespace smelt
