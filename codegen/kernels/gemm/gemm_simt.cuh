// C = epilogue(A * B) in true 32-bit arithmetic, on the ordinary cores.
//
// Problem: models in float whose users expect float's accuracy; tensor cores would round the
// operands to tf32's ten bits.
//
// Method
//   - The same Problem, tiles, pipeline, cluster split and epilogue as gemm.cuh. Tiles keep the
//     order of memory: A is [m][k], B [k][n] or [n][k], all filled by 16-byte cp.async where aligned.
//   - A thread computes threadM x threadN elements, four steps of K at a time: 16-byte reads along
//     k for A (and for B if it is [n][k]), along n for B [k][n], then 4 * threadM * threadN FFMA.
//   - A warp is eight threads along n by four along m, and a thread's rows (and columns of B
//     [n][k]) lie threads apart, so that the eight reads of a phase fall into different banks.
//
// Assumes: as gemm.cuh, with ElementA = ElementB = float; 8 x 4 threads divide the block's threads.
// Cost: 2 M N K FLOPs at 256 a clock and multiprocessor; bytes as gemm.cuh.
#pragma once

#include "device/tile.cuh"
#include "kernels/gemm/gemm_block.cuh"
#include "kernels/gemm/gemm_config.cuh"

namespace smelt {

template <class Config, class Problem> struct GemmSimtTask {
  static constexpr GemmSimtTiling kTiling = Config::kTiling;
  static constexpr int kBlockM = kTiling.blockM, kBlockN = kTiling.blockN, kBlockK = kTiling.blockK;
  static constexpr int kThreadM = kTiling.threadM, kThreadN = kTiling.threadN;
  static constexpr int kThreadsM = kTiling.threadsM(), kThreadsN = kTiling.threadsN();
  static constexpr int kThreads = kTiling.threads();
  static constexpr int kSharedBytes = Config::sharedBytes();
  static constexpr int kStages = kTiling.stages, kClusterK = kTiling.clusterK;
  static constexpr bool kBTransposed = Problem::kBTransposed;
  static constexpr int kQuad = 4; // floats of one 16-byte read

  static_assert(kIsSame<typename Problem::ElementA, float>, "operands are float");
  static_assert(kThreadsN % 8 == 0 && kThreadsM % 4 == 0, "warps are 8 x 4 threads");
  static_assert(kThreadN % kQuad == 0, "a thread's columns are read four at a time");
  static_assert(kBlockK % kQuad == 0, "K is read four at a time");

  using TileA = SharedTile<float, kBlockM, kBlockK>;
  using TileB = Select<kBTransposed, SharedTile<float, kBlockN, kBlockK>,
                       SharedTile<float, kBlockK, kBlockN>>;
  using Pipeline = GemmPipeline<Problem, TileA, TileB, kThreads, kStages>;
  using Output =
      TileEpilogue<Problem, kBlockM, kBlockN, kThreads, kClusterK, 1, kThreadM * kThreadN>;

  const int threadRow, threadColumn;
  float sums[kThreadM][kThreadN];

  __device__ __forceinline__ GemmSimtTask()
      : threadRow(threadIdx.x / 32 / (kThreadsN / 8) * 4 + threadIdx.x % 32 / 8),
        threadColumn(threadIdx.x / 32 % (kThreadsN / 8) * 8 + threadIdx.x % 8) {}

  /// Row and column in the tile of the thread's sum (i, j).
  __device__ __forceinline__ int rowOf(int i) const { return threadRow + i * kThreadsM; }
  __device__ __forceinline__ int columnOf(int j) const {
    if constexpr (kBTransposed)
      return threadColumn + j * kThreadsN;
    else
      return (threadColumn + j / kQuad * kThreadsN) * kQuad + j % kQuad;
  }

  // --- Main loop ---

  /// B of column group `g` at step k of the tile, or of column `g` at steps k to k + 3
  /// (transposed).
  __device__ __forceinline__ void loadB(uint32_t tile, int k, int g, float (&b)[kQuad]) const {
    int row = kBTransposed ? threadColumn + g * kThreadsN : k;
    int chunk = kBTransposed ? k / kQuad : threadColumn + g * kThreadsN;
    ptx::loadShared(tile + TileB::offset(row, chunk), b);
  }

  /// Multiplies four steps of K.
  __device__ __forceinline__ void multiplyQuad(uint32_t tileA, uint32_t tileB, int k) {
    float a[kThreadM][kQuad];
#pragma unroll
    for (int i = 0; i < kThreadM; ++i)
      ptx::loadShared(tileA + TileA::offset(rowOf(i), k / kQuad), a[i]);
    if constexpr (kBTransposed) {
#pragma unroll
      for (int j = 0; j < kThreadN; ++j) {
        float b[kQuad];
        loadB(tileB, k, j, b);
#pragma unroll
        for (int s = 0; s < kQuad; ++s)
#pragma unroll
          for (int i = 0; i < kThreadM; ++i)
            sums[i][j] = ::fmaf(a[i][s], b[s], sums[i][j]);
      }
    } else {
#pragma unroll
      for (int s = 0; s < kQuad; ++s)
#pragma unroll
        for (int g = 0; g < kThreadN / kQuad; ++g) {
          float b[kQuad];
          loadB(tileB, k + s, g, b);
#pragma unroll
          for (int i = 0; i < kThreadM; ++i)
#pragma unroll
            for (int j = 0; j < kQuad; ++j)
              sums[i][g * kQuad + j] = ::fmaf(a[i][s], b[j], sums[i][g * kQuad + j]);
        }
    }
  }

  __device__ __forceinline__ void multiply(const Pipeline &pipeline) {
#pragma unroll
    for (int i = 0; i < kThreadM; ++i)
#pragma unroll
      for (int j = 0; j < kThreadN; ++j)
        sums[i][j] = 0.0f;
    int stage = 0, nextStage = kStages - 1; // that is multiplied, that is filled
    for (int step = 0; step < pipeline.countK; ++step) {
      pipeline.waitForStep();
      pipeline.copyAheadA(step, nextStage);
      pipeline.copyAheadB(step, nextStage);
      staticFor<0, kBlockK / kQuad>([&](auto quad) {
        multiplyQuad(pipeline.stageA(stage), pipeline.stageB(stage), quad * kQuad);
      });
      stage = Pipeline::after(stage);
      nextStage = Pipeline::after(nextStage);
    }
    ptx::copyAsyncWait<0>();
  }

  __device__ __forceinline__ void sendSums(const Output &output) const {
#pragma unroll
    for (int i = 0; i < kThreadM; ++i)
      if constexpr (kBTransposed) {
#pragma unroll
        for (int j = 0; j < kThreadN; ++j)
          Output::send(output.target(0, rowOf(i), columnOf(j)), sums[i][j]);
      } else {
#pragma unroll
        for (int j = 0; j < kThreadN; j += 2)
          Output::send(output.target(0, rowOf(i), columnOf(j)), sums[i][j], sums[i][j + 1]);
      }
  }
};

template <class Config, class Problem>
__device__ __forceinline__ void gemmSimt(const Problem &problem, char *shared) {
  multiplyMatrices<GemmSimtTask<Config, Problem>>(problem, shared);
}

} // namespace smelt
