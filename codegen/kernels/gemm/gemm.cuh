// C = epilogue(A * B) on the tensor cores: mma.sync; 16-bit or tf32 operands and float sums, floats
// in float's accuracy, floats of 8 bits, or 8-bit integers, signed or not on either side, and exact
// 32-bit sums.
//
// Problem: matrix products of transformers, from one short sequence (M = 128, where a launch lasts
// microseconds and most multiprocessors would idle) to thousands of rows, with whatever follows
// (bias, activation, residual) computed before the sums leave the chip.
//
// Method
//   - Tiles of A and B flow through swizzled shared-memory stages: cp.async fills them (16 bytes a
//     thread where alignment allows, else 8, 4 or one element) and zero-fills the edges, ldmatrix
//     reads them. Fragments of the next 32 bytes of K arrive while the tensor cores work on the
//     present ones.
//   - B is [k][n] (ldmatrix transposes) or [n][k]. Bytes, which ldmatrix cannot transpose, lie as
//     [n][k] in shared memory either way: those of a B [k][n] pass through registers, which costs
//     the main loop their latency (weights are stored as [n][k] for it).
//   - A and B are reached through the Problem, which may fold any view into its addresses. Where A
//     is an image in zeros (kAPadded: the windows of a convolution), those have no address, and the
//     copies fill zeros in as they do at the edges.
//   - Floats of 8 bits are bytes until fragments are multiplied: as halves, which hold them exactly.
//   - Small M * N with long K: the blocks of a cluster share one tile of C. Each takes a part of K
//     and sends its sums for a band of rows to the block that owns the band, through distributed
//     shared memory; the owner adds them in the order of the ranks, so results are reproducible.
//   - Sums pass through shared memory, so that the epilogue gets up to eight consecutive columns
//     and moves 16 bytes at a time. What it reads is fetched before the main loop where registers
//     allow.
//   - Where few blocks run, a block's warps share K as well (warpsK), which shortens the chain of
//     dependent mma that one warp has to get through.
//   - Floats whose users expect float's accuracy (GemmSplitConfig) are split in registers, x = high
//     + low, both tf32: C = high * high + high * low + low * high; what is left out is below 2^-22
//     of a product. Tensor cores cut the low bits of sums off, so a step's sums start at zero and
//     are added by the ordinary cores. Infinities have no low part: a thread whose sums are not all
//     numbers computes them once more, element by element. On one H200 up to 57 TFLOP/s, FFMA 34;
//     error norms over 202 random products at most 3.4e-7, FFMA's 6.0e-7.
//   - Weights (kBConstant) fill the pipeline before `griddepcontrol.wait`, while the previous
//     kernel drains.
//
// Assumes: kAVector divides k(), kBVector divides k() (transposed) or n(), kEpilogueWidth divides
// n(); Config::kThreads threads; Config::sharedBytes(sizeof(ElementA)) of shared memory, 16-byte
// aligned; grid (tiles of C, clusterK, min(batches, 65535)), cluster (1, clusterK, 1). Along K,
// addresses up to blockK past the end may be computed but are not used.
// Cost: 2 M N K FLOPs; at least (M K + K N) * sizeof(ElementA) bytes from memory, and per tile of C
// (blockM + blockN) * K * sizeof(ElementA) bytes from L2.
#pragma once

#include "device/tile.cuh"
#include "kernels/gemm/gemm_block.cuh"
#include "kernels/gemm/gemm_config.cuh"

namespace smelt {

template <class Config, class Problem> struct GemmTask {
  using ElementA = typename Problem::ElementA;
  using ElementB = typename Problem::ElementB;
  using Sum = typename Problem::Sum;
  static constexpr GemmTiling kTiling = Config::kTiling;
  static constexpr int kBlockM = kTiling.blockM, kBlockN = kTiling.blockN, kBlockK = kTiling.blockK;
  static constexpr int kStages = kTiling.stages, kClusterK = kTiling.clusterK;
  static constexpr int kThreads = kTiling.threads();
  static constexpr int kSharedBytes = Config::sharedBytes(sizeof(ElementA));
  static constexpr int kWarpM = kBlockM / kTiling.warpsM, kWarpN = kBlockN / kTiling.warpsN;
  static constexpr int kRowTiles = kWarpM / 16, kColumnTiles = kWarpN / 8;
  static constexpr bool kFloat = kIsSame<ElementA, float>;
  static constexpr bool kSplits = Config::kSplits;
  static constexpr bool kBytes = sizeof(ElementA) == 1;
  static constexpr bool kRowsOfK = Problem::kBTransposed || kBytes; // the tiles of B are [n][k]
  static constexpr int kStepK = 32 / sizeof(ElementA);              // K of one mma: 32 bytes
  static constexpr int kWarpsK = kTiling.warpsK;
  static constexpr int kSteps = kBlockK / kStepK / kWarpsK; // of a warp, in one tile
  static constexpr int kChunksPerStep = 2;                  // of 16 bytes

  static_assert(kBytes ? kMultipliesBytes<ElementA, ElementB, Sum>
                       : (kIsHalfWidth<ElementA> || kFloat) && kIsSame<ElementA, ElementB> &&
                             kIsSame<Sum, float>,
                "operands are half, bfloat16, (tf32) float or float of 8 bits and sums float, or "
                "bytes and int32_t");
  static_assert(!kSplits || (kFloat && kWarpsK == 1), "floats are split, and one warp sums them");
  static_assert(kBlockM % (16 * kTiling.warpsM) == 0, "a warp computes whole 16-row fragments");
  static_assert(kBlockN % (16 * kTiling.warpsN) == 0, "a warp computes whole 16-column fragments");
  static_assert(kBlockK % (2 * kStepK * kWarpsK) == 0, "a warp's K is an even number of mma deep");

  using TileA = SharedTile<ElementA, kBlockM, kBlockK>;
  using TileB = Select<kRowsOfK, SharedTile<ElementB, kBlockN, kBlockK>,
                       SharedTile<ElementB, kBlockK, kBlockN, kFloat>>;
  using Pipeline = GemmPipeline<Problem, TileA, TileB, kThreads, kStages>;
  using Output = TileEpilogue<Problem, kBlockM, kBlockN, kThreads, kClusterK, kWarpsK,
                              kRowTiles * kColumnTiles * 4>;

  const int warp, lane;
  const int warpPart;            // which steps of K are the warp's
  const int warpRow, warpColumn; // of the warp's part of the tile
  Sum sums[kRowTiles][kColumnTiles][4];
  Sum stepSums[kSplits ? kRowTiles : 1][kSplits ? kColumnTiles : 1][4]; // of the present tile
  uint32_t fragmentsA[kRowTiles][4], fragmentsB[2][kColumnTiles / 2][4];

  __device__ __forceinline__ GemmTask()
      : warp(threadIdx.x / 32), lane(threadIdx.x % 32),
        warpPart(warp / (kTiling.warpsM * kTiling.warpsN)), warpRow(warp % kTiling.warpsM * kWarpM),
        warpColumn(warp / kTiling.warpsM % kTiling.warpsN * kWarpN) {}

  // --- Main loop ---

  __device__ __forceinline__ void loadA(uint32_t tile, int step, int i) {
    loadFragmentA<TileA>(tile, warpRow + 16 * i, (warpPart * kSteps + step) * kChunksPerStep,
                         fragmentsA[i]);
  }

  __device__ __forceinline__ void loadB(uint32_t tile, int step) {
#pragma unroll
    for (int j = 0; j < kColumnTiles / 2; ++j) {
      int column = warpColumn + 16 * j;
      uint32_t (&f)[4] = fragmentsB[step % 2][j];
      if constexpr (kRowsOfK)
        loadFragmentBTransposed<TileB>(tile, column, (warpPart * kSteps + step) * kChunksPerStep,
                                       f);
      else if constexpr (kFloat)
        loadFragmentBFloat<TileB>(tile, (warpPart * kSteps + step) * kStepK, column, f);
      else
        loadFragmentB<TileB>(tile, (warpPart * kSteps + step) * kStepK, column / 8, f);
    }
  }

  __device__ __forceinline__ static void roundToTf32(uint32_t (&f)[4]) {
#pragma unroll
    for (int r = 0; r < 4; ++r)
      f[r] = ptx::toTf32(f[r]);
  }

  __device__ __forceinline__ static void multiplyFragments(Sum (&d)[4], const uint32_t (&a)[4],
                                                           uint32_t b0, uint32_t b1) {
    if constexpr (kBytes)
      ptx::mma(d, a, b0, b1, ElementA(), ElementB());
    else
      ptx::mma(d, a, b0, b1, ElementA());
  }

  /// f becomes its high part, rounded to tf32; `low` what is left of it. Tensor cores ignore the last
  /// 13 bits: of the low part's 12 that is one at most.
  __device__ __forceinline__ static void splitFloats(uint32_t (&f)[4], uint32_t (&low)[4]) {
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      uint32_t high = (f[r] + 0x1000) & ~0x1fffu;
      low[r] = __float_as_uint(__uint_as_float(f[r]) - __uint_as_float(high));
      f[r] = high;
    }
  }

  /// Adds the products of one row of fragments to `d`.
  template <int Count>
  __device__ __forceinline__ static void
  multiplyRow(Sum (&d)[kColumnTiles][4], const uint32_t (&a)[4], const uint32_t (&b)[Count][4]) {
#pragma unroll
    for (int j = 0; j < kColumnTiles; ++j)
      multiplyFragments(d[j], a, b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
  }

  /// multiplyStep for floats as sums of two tf32, the smallest products first.
  __device__ __forceinline__ void multiplySplitStep(int step, uint32_t tileA, uint32_t tileB,
                                                    int nextStep) {
    loadB(tileB, nextStep);
    uint32_t (&b)[kColumnTiles / 2][4] = fragmentsB[step % 2], lowB[kColumnTiles / 2][4];
#pragma unroll
    for (int j = 0; j < kColumnTiles / 2; ++j)
      splitFloats(b[j], lowB[j]);
#pragma unroll
    for (int i = 0; i < kRowTiles; ++i) {
      uint32_t lowA[4];
      splitFloats(fragmentsA[i], lowA);
      multiplyRow(stepSums[i], lowA, b);
      multiplyRow(stepSums[i], fragmentsA[i], lowB);
      multiplyRow(stepSums[i], fragmentsA[i], b);
      loadA(tileA, nextStep, i);
    }
  }

  /// Multiplies the fragments of `step` and fetches those of `nextStep` behind them: B into its
  /// second buffer, each fragment of A into the registers that were just used.
  __device__ __forceinline__ void multiplyStep(int step, uint32_t tileA, uint32_t tileB,
                                               int nextStep) {
    loadB(tileB, nextStep);
    uint32_t (&b)[kColumnTiles / 2][4] = fragmentsB[step % 2];
    if constexpr (kFloat) {
#pragma unroll
      for (int j = 0; j < kColumnTiles / 2; ++j)
        roundToTf32(b[j]);
    }
#pragma unroll
    for (int i = 0; i < kRowTiles; ++i) {
      if constexpr (kFloat)
        roundToTf32(fragmentsA[i]);
      multiplyRow(sums[i], fragmentsA[i], b);
      loadA(tileA, nextStep, i);
    }
  }

  /// `visit(i, j, r)` for every sum of the thread.
  template <class Visit> __device__ __forceinline__ static void forEachSum(Visit visit) {
#pragma unroll
    for (int i = 0; i < kRowTiles; ++i)
#pragma unroll
      for (int j = 0; j < kColumnTiles; ++j)
#pragma unroll
        for (int r = 0; r < 4; ++r)
          visit(i, j, r);
  }

  __device__ __forceinline__ void clearSums() {
    forEachSum([&](int i, int j, int r) { sums[i][j][r] = Sum(0); });
    if constexpr (kSplits)
      forEachSum([&](int i, int j, int r) { stepSums[i][j][r] = 0.0f; });
  }

  /// The sums of a tile of K join those before.
  __device__ __forceinline__ void addStepSums() {
    forEachSum([&](int i, int j, int r) {
      sums[i][j][r] += stepSums[i][j][r];
      stepSums[i][j][r] = 0.0f;
    });
  }

  __device__ __forceinline__ static float readA(const Problem &problem, int batch, int m, int k) {
    const ElementA *from = problem.a(batch, m, k);
    if constexpr (Problem::kAPadded)
      return from != nullptr ? float(*from) : 0.0f;
    return *from;
  }

  /// The thread's sums once more where one of them is not a number: element by element, in float.
  __device__ __forceinline__ void repairSums(const Pipeline &pipeline) {
    bool areNumbers = true;
    forEachSum([&](int i, int j, int r) { areNumbers &= sums[i][j][r] == sums[i][j][r]; });
    if (areNumbers)
      return;
    clearSums();
    const Problem &problem = pipeline.problem;
    int row0 = pipeline.row0 + warpRow + lane / 4;
    int column0 = pipeline.column0 + warpColumn + lane % 4 * 2;
    int end = min((pipeline.firstK + pipeline.countK) * kBlockK, problem.k());
#pragma unroll 1
    for (int k = pipeline.firstK * kBlockK; k < end; ++k) {
      float a[2 * kRowTiles], b[2 * kColumnTiles];
#pragma unroll
      for (int i = 0; i < 2 * kRowTiles; ++i)
        a[i] = readA(problem, pipeline.batch, min(row0 + 8 * i, problem.m() - 1), k);
#pragma unroll
      for (int j = 0; j < 2 * kColumnTiles; ++j)
        b[j] = *problem.b(pipeline.batch, k, min(column0 + j / 2 * 8 + j % 2, problem.n() - 1));
      forEachSum([&](int i, int j, int r) {
        sums[i][j][r] = ::fmaf(a[2 * i + r / 2], b[2 * j + r % 2], sums[i][j][r]);
      });
    }
  }

  __device__ __forceinline__ void multiply(const Pipeline &pipeline) {
    clearSums();
    pipeline.waitForStep();
    loadB(pipeline.stageB(0), 0);
#pragma unroll
    for (int i = 0; i < kRowTiles; ++i)
      loadA(pipeline.stageA(0), 0, i);
    int stage = 0, nextStage = kStages - 1; // that fragments are fetched from, that is filled
    for (int tile = 0; tile < pipeline.countK; ++tile) {
      staticFor<0, kSteps>([&](auto step) {
        if constexpr (step == kSteps - 1) { // fetches from the next tile
          pipeline.waitForStep();
          stage = Pipeline::after(stage);
        }
        if constexpr (kSplits)
          multiplySplitStep(step, pipeline.stageA(stage), pipeline.stageB(stage),
                            (step + 1) % kSteps);
        else
          multiplyStep(step, pipeline.stageA(stage), pipeline.stageB(stage), (step + 1) % kSteps);
        // Behind the fetches, so that the addresses are computed while the tensor cores work; the
        // groups must be closed before the next wait.
        if constexpr (step == 0)
          pipeline.copyAheadA(tile, nextStage);
        if constexpr (step == (kSteps > 2 ? 1 : 0))
          pipeline.copyAheadB(tile, nextStage);
      });
      if constexpr (kSplits)
        addStepSums();
      nextStage = Pipeline::after(nextStage);
    }
    ptx::copyAsyncWait<0>();
    if constexpr (kSplits)
      repairSums(pipeline);
  }

  __device__ __forceinline__ void sendSums(const Output &output) const {
#pragma unroll
    for (int i = 0; i < kRowTiles; ++i)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        uint32_t target =
            output.target(warpPart, warpRow + 16 * i + 8 * h + lane / 4, warpColumn + lane % 4 * 2);
#pragma unroll
        for (int j = 0; j < kColumnTiles; ++j)
          Output::send(target + 4 * Output::Row::ofGroup(j), sums[i][j][2 * h],
                       sums[i][j][2 * h + 1]);
      }
  }
};

template <class Config, class Problem>
__device__ __forceinline__ void gemm(const Problem &problem, char *shared) {
  multiplyMatrices<GemmTask<Config, Problem>>(problem, shared);
}

} // namespace smelt
