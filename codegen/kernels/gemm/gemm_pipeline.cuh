// The flow of a GEMM's operands into shared memory: a ring of stages, each one step of K of both.
//
// Problem: the main loops of all GEMM templates need the next tiles of A and B on their way while
// they multiply the present ones, whatever the layout, alignment and edges of the operands.
// Method: cp.async, one group a step, always the same number of steps ahead; a B [k][n] of bytes is
// transposed on the way, through registers. Constant B (weights) is asked for before the wait for
// earlier kernels, so that it arrives while they drain. Assumes: all threads of the block take part
// in every call.
#pragma once

#include "device/tile.cuh"

namespace smelt {

/// A ring of `Stages` stages, filled `Ahead` steps ahead of the multiplication.
template <class Problem, class TileA, class TileB, int Threads, int Stages, int Ahead = Stages - 1>
struct GemmPipeline {
  static_assert(Ahead >= 1 && Ahead < Stages, "the pipeline needs two stages");
  static constexpr bool kBTransposed = Problem::kBTransposed;
  static constexpr int kBlockK = TileA::kColumns;
  /// Addresses that are asked for one by one would fill the registers if all steps were unrolled.
  static constexpr int kUnrolledB = Problem::kBLinear ? Ahead : 1;
  static constexpr int kUnrolledSteps =
      Problem::kALinear && (Problem::kBConstant || Problem::kBLinear) ? Ahead : 1;
  static constexpr int kStageBytes = TileA::kBytes + TileB::kBytes;

  const Problem &problem;
  const uint32_t shared;
  const int batch, row0, column0; // of the tile in C
  const int firstK, countK;       // steps of K

  __device__ __forceinline__ uint32_t stageA(int stage) const {
    return shared + stage * kStageBytes;
  }
  __device__ __forceinline__ uint32_t stageB(int stage) const {
    return stageA(stage) + TileA::kBytes;
  }

  /// Asks for the first steps.
  __device__ __forceinline__ void fill() const {
    if constexpr (Problem::kBConstant) {
#pragma unroll kUnrolledB
      for (int i = 0; i < Ahead; ++i)
        if (i < countK)
          copyB(i, i);
    }
    if constexpr (Problem::kALinear &&
                  SMELT_HAS_CLUSTERS) { // the first copies' address, while we wait
      using Walk = TileWalk<TileA, Threads>;
      ptx::keep(problem.a(batch, row0 + Walk::row(0),
                          firstK * kBlockK + Walk::chunk(0) * TileA::kChunkElements));
    }
    ptx::gridDependencyWait();
    ptx::gridDependencyLaunch();
#pragma unroll kUnrolledSteps
    for (int i = 0; i < Ahead; ++i) {
      if (i < countK) {
        copyA(i, i);
        if constexpr (!Problem::kBConstant)
          copyB(i, i);
      }
      ptx::copyAsyncCommit();
    }
  }

  /// Waits until this thread's copies of the next step in turn have arrived.
  __device__ __forceinline__ static void waitForCopies() { ptx::copyAsyncWait<Ahead - 1>(); }

  /// The same for all threads' copies; and nobody reads the step before any more.
  __device__ __forceinline__ static void waitForStep() {
    waitForCopies();
    __syncthreads();
  }

  /// While `step` is multiplied: asks for the step `Ahead` of it, in the place of one that nobody
  /// reads any more. Both operands make one group, closed by the copy of B.
  __device__ __forceinline__ void copyAheadA(int step, int stage) const {
    if (step + Ahead < countK)
      copyA(step + Ahead, stage);
  }
  __device__ __forceinline__ void copyAheadB(int step, int stage) const {
    if (step + Ahead < countK)
      copyB(step + Ahead, stage);
    ptx::copyAsyncCommit();
  }

  /// The stage after `stage` in the ring.
  __device__ __forceinline__ static int after(int stage) {
    return stage + 1 == Stages ? 0 : stage + 1;
  }

private:
  __device__ __forceinline__ void copyA(int step, int stage) const {
    auto source = [this](int m, int k) { return problem.a(batch, m, k); };
    copyTile<TileA, Along::kColumns, Problem::kAVector, Threads, Problem::kALinear,
             Problem::kAContiguous, Problem::kAPadded>(
        stageA(stage), source, row0, (firstK + step) * kBlockK, problem.m(), problem.k());
  }

  __device__ __forceinline__ void copyB(int step, int stage) const {
    int k0 = (firstK + step) * kBlockK;
    if constexpr (kBTransposed) {
      auto source = [this](int n, int k) { return problem.b(batch, k, n); };
      copyTile<TileB, Along::kColumns, Problem::kBVector, Threads, Problem::kBLinear,
               Problem::kBContiguous>(stageB(stage), source, column0, k0, problem.n(), problem.k());
    } else if constexpr (sizeof(typename TileB::Element) == 1) {
      auto source = [this](int k, int n) { return problem.b(batch, k, n); };
      copyTileTransposed<TileB, Problem::kBVector, Threads>(stageB(stage), source, k0, column0,
                                                            problem.k(), problem.n());
    } else {
      auto source = [this](int k, int n) { return problem.b(batch, k, n); };
      copyTile<TileB, Along::kRows, Problem::kBVector, Threads, Problem::kBLinear,
               Problem::kBContiguous>(stageB(stage), source, k0, column0, problem.k(), problem.n());
    }
  }
};

} // namespace smelt
