// Reductions of few long rows, in two kernels: parts of rows by many blocks, then rows of parts.
//
// Problem: a row that one block reduces reaches one multiprocessor's share of the bandwidth, and
// checks for overflow reduce a whole tensor to one number. Method: the grid is (parts, rows); a
// block's threads keep kUnrolled vectors each on their way and leave one partial a block in scratch
// memory, which the second kernel combines. Parts and the order within them follow from the sizes
// alone, so results are reproducible bit for bit. Assumes: the width divides the columns.
//
// A Problem supplies
//   template <class Block> void run(const Block &block, int row)   of either kernel
#pragma once

#include "device/arithmetic.cuh"
#include "device/reduce.cuh"
#include "device/vector.cuh"

namespace smelt {

/// A block of `Threads` and its columns of one row: [begin, end).
template <int Threads> struct ReductionBlock {
  static constexpr int kUnrolled = 4; // vectors of a thread that are on their way together
  int begin, end;
  void *scratch; // 32 values in shared memory

  /// Calls `body(column)` for each vector of `Width` columns of this thread.
  template <int Width, class Body> __device__ __forceinline__ void forEach(const Body &body) const {
    constexpr int kStep = Threads * Width;
    int column = begin + threadIdx.x * Width;
    for (; end - column > (kUnrolled - 1) * kStep; column += kUnrolled * kStep) {
#pragma unroll
      for (int i = 0; i < kUnrolled; ++i)
        body(column + i * kStep);
    }
    for (; column < end; column += kStep)
      body(column);
  }

  /// Combines one value of each thread; all receive the result.
  template <class Op, class T> __device__ __forceinline__ T reduce(T value) const {
    return blockReduce<Op, Threads>(value, static_cast<T *>(scratch));
  }
};

/// The first kernel: part blockIdx.x of gridDim.x of row blockIdx.y, whole vectors of `Width`.
template <int Threads, int Width, class Problem>
__device__ __forceinline__ void reduceParts(const Problem &problem, int columns) {
  ptx::gridDependencyWait();
  ptx::gridDependencyLaunch();
  __shared__ double scratch[32];
  unsigned vectors = columns / Width, perPart = (vectors + gridDim.x - 1) / gridDim.x;
  unsigned begin = blockIdx.x * perPart, end = begin + perPart;
  begin = begin < vectors ? begin : vectors;
  end = end < vectors ? end : vectors;
  problem.run(ReductionBlock<Threads>{int(begin * Width), int(end * Width), scratch}, blockIdx.y);
}

/// The second: all `parts` of row blockIdx.x.
template <int Threads, class Problem>
__device__ __forceinline__ void combineParts(const Problem &problem, int parts) {
  ptx::gridDependencyWait();
  ptx::gridDependencyLaunch();
  __shared__ double scratch[32];
  problem.run(ReductionBlock<Threads>{0, parts, scratch}, blockIdx.x);
}

} // namespace smelt
