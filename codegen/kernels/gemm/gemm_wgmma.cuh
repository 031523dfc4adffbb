// C = epilogue(A * B) on Hopper's tensor cores: wgmma; 16-bit operands, or floats of 8 bits, and float
// sums, or bytes and 32-bit ones.
//
// Problem: mma.sync reaches 62 % of a Hopper's matrix rate, and its fragments pass through
// registers: in the small tiles of short sequences, reading them from shared memory takes longer
// than the multiplication (64 x 64 tile, 16 deep: 64 clocks against 47).
//
// Method
//   - The same Problem, pipeline, cluster split and epilogue as gemm.cuh; only the middle differs.
//     A warpgroup multiplies 64 rows by blockN columns straight from shared memory (32 clocks in the
//     example), asynchronously, while its threads ask for later steps.
//   - cp.async writes the stages in the permutation that wgmma expects: A and B [n][k] in rows of
//     128 bytes, B [k][n] in panels of 64, 32 or 16 columns. Of bytes B lies as [n][k] in any case, as
//     in gemm.cuh.
//   - In small tiles copying and finishing take longer than multiplying: helper warpgroups share
//   them.
//   - One step stays in flight across the barrier: a stage is refilled only when the multiplication
//     before the last has finished, so the pipeline runs stages - 2 steps ahead.
//
// Assumes: as gemm.cuh, on sm_90a; Config::sharedBytes() of shared memory, 1024-byte aligned.
// Cost: 2 M N K FLOPs at 4096 a clock and multiprocessor, twice as many of bytes; bytes as gemm.cuh.
#pragma once

#include "device/wgmma.cuh"
#include "kernels/gemm/gemm_block.cuh"
#include "kernels/gemm/gemm_config.cuh"

namespace smelt {

template <class Config, class Problem> struct GemmWgmmaTask {
  using ElementA = typename Problem::ElementA;
  using ElementB = typename Problem::ElementB;
  using Sum = typename Problem::Sum;
  static constexpr GemmWgmmaTiling kTiling = Config::kTiling;
  static constexpr int kBlockM = kTiling.blockM, kBlockN = kTiling.blockN;
  static constexpr int kBlockK = kWgmmaStepBytes / sizeof(ElementA);
  static constexpr int kStages = kTiling.stages, kClusterK = kTiling.clusterK;
  static constexpr int kThreads = kTiling.threads();
  static constexpr int kSharedBytes = Config::sharedBytes();
  static constexpr bool kBytes = sizeof(ElementA) == 1;
  static constexpr bool kRowsOfK = Problem::kBTransposed || kBytes; // the tiles of B are [n][k]
  static constexpr int kStepK = 32 / sizeof(ElementA);              // of one multiplication
  static constexpr int kPanel = kBlockN % 64 == 0 ? 64 : kBlockN % 32 == 0 ? 32 : 16;

  static constexpr bool kInParts = kIsFloat8<ElementA>; // sums are those of steps
  static_assert(kBytes
                    ? kMultipliesBytes<ElementA, ElementB, Sum>
                    : kIsHalfWidth<ElementA> && kIsSame<ElementA, ElementB> && kIsSame<Sum, float>,
                "operands are half, bfloat16 or floats of 8 bits and sums float, or bytes and "
                "int32_t");
  static_assert(kBlockM % 64 == 0, "a warpgroup computes 64 rows");
  static_assert(kStages >= 3, "two stages are being multiplied while others are filled");

  using TileA = SharedTile<ElementA, kBlockM, kBlockK>;
  using TileB = Select<kRowsOfK, SharedTile<ElementB, kBlockN, kBlockK>,
                       PanelTile<ElementB, kBlockK, kBlockN, kPanel>>;
  using Pipeline = GemmPipeline<Problem, TileA, TileB, kThreads, kStages, kStages - 2>;
  using Output = TileEpilogue<Problem, kBlockM, kBlockN, kThreads, kClusterK, 1, kBlockN / 2>;

  const int group; // this thread's warpgroup
  Sum sums[kBlockN / 2];
  Sum ofStep[kInParts ? kBlockN / 2 : 1]; // added once it has been multiplied: see gemm_tma.cuh

  __device__ __forceinline__ GemmWgmmaTask() : group(warpgroup()) {}

  /// Index of this thread's warpgroup, in a form that the compiler knows to be the same for the
  /// warp.
  __device__ __forceinline__ static int warpgroup() {
    return kThreads == 128 ? 0 : __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);
  }

  /// Helpers only copy and finish.
  __device__ __forceinline__ bool multiplies() const {
    return kTiling.helpers == 0 || group < kBlockM / 64;
  }

  /// Starts the multiplication of one step.
  __device__ __forceinline__ void multiplyStep(uint32_t tileA, uint32_t tileB) {
    constexpr int kGroupRows = 8, kPanelBytes = TileB::kRows * kPanel * 2, kUnused = 16;
    constexpr int kStepBytesA = kStepK * sizeof(ElementA);
    constexpr int kStepBytesB = kRowsOfK ? kStepBytesA : kStepK * TileB::kRowBytes;
    wgmma::Operand a = wgmma::describe<TileA::kRowBytes>(tileA + group * 64 * TileA::kRowBytes,
                                                         kGroupRows * TileA::kRowBytes, kUnused);
    wgmma::Operand b = wgmma::describe<TileB::kRowBytes>(tileB, kGroupRows * TileB::kRowBytes,
                                                         kRowsOfK ? kUnused : kPanelBytes);
    wgmma::fence();
    staticFor<0, kBlockK / kStepK>([&](auto step) {
      using Multiply = wgmma::Multiply<kBlockN, ElementA, ElementB, !kRowsOfK>;
      if constexpr (kInParts)
        Multiply::template run<step != 0>(ofStep, a.at(step * kStepBytesA),
                                          b.at(step * kStepBytesB));
      else
        Multiply::run(sums, a.at(step * kStepBytesA), b.at(step * kStepBytesB));
    });
    wgmma::commit();
  }

  __device__ __forceinline__ void addStep() {
    wgmma::wait<0>();
    wgmma::pin(ofStep);
#pragma unroll
    for (int i = 0; i < kBlockN / 2; ++i)
      sums[i] += ofStep[i];
    wgmma::pin(ofStep);
  }

  /// All warpgroups go through the steps together: helpers meet the others at the same barriers, in the
  /// same place of the program.
  __device__ __forceinline__ void multiply(const Pipeline &pipeline) {
    const bool multiplies = this->multiplies();
    int stage = 0, nextStage = kStages - 2; // that is multiplied, that is filled
#pragma unroll
    for (int i = 0; i < kBlockN / 2; ++i) {
      sums[i] = Sum(0);
      if constexpr (kInParts)
        ofStep[i] = Sum(0);
    }
    wgmma::pin(sums);
    wgmma::pin(ofStep);
#pragma unroll 1
    for (int step = 0; step < pipeline.countK; ++step) {
      pipeline.waitForCopies();
      wgmma::publishShared();
      __syncthreads(); // this step has arrived, and the one before the last has been multiplied
      if (multiplies)
        multiplyStep(pipeline.stageA(stage), pipeline.stageB(stage));
      pipeline.copyAheadA(step, nextStage);
      pipeline.copyAheadB(step, nextStage);
      if constexpr (kInParts)
        addStep();
      else
        wgmma::wait<1>();
      stage = Pipeline::after(stage);
      nextStage = Pipeline::after(nextStage);
    }
    ptx::copyAsyncWait<0>();
    wgmma::wait<0>();
    wgmma::pin(sums);
  }

  __device__ __forceinline__ void sendSums(const Output &output) const {
    if (multiplies())
      output.sendWarpgroup(sums);
  }
};

template <class Config, class Problem>
__device__ __forceinline__ void gemmWgmma(const Problem &problem, char *shared) {
  multiplyMatrices<GemmWgmmaTask<Config, Problem>>(problem, shared);
}

} // namespace smelt
