// C = epilogue(A * B) on the tensor cores: mma.sync, 16-bit or tf32 operands, float sums.
//
// Problem: matrix products of transformers, from one short sequence (M = 128, where a launch lasts
// microseconds and most multiprocessors would idle) to thousands of rows, with whatever follows
// (bias, activation, residual) computed before the sums leave the chip.
//
// Method
//   - Tiles of A and B flow through swizzled shared-memory stages: cp.async fills them (16 bytes a
//     thread where alignment allows, else 8, 4 or 2) and zero-fills the edges, ldmatrix reads them.
//     Fragments of the next 32 bytes of K arrive while the tensor cores work on the present ones.
//   - B is [k][n] (ldmatrix transposes) or [n][k]. A and B are reached through the Problem, which
//   may
//     fold any view into its addresses.
//   - Small M * N with long K: the blocks of a cluster share one tile of C. Each takes a part of K
//     and sends its sums for a band of rows to the block that owns the band, through distributed
//     shared memory; the owner adds them in the order of the ranks, so results are reproducible.
//   - Sums pass through shared memory, so that the epilogue gets up to eight consecutive columns
//   and
//     moves 16 bytes at a time. What it reads is fetched before the main loop where registers
//     allow.
//   - Weights (kBConstant) fill the pipeline before `griddepcontrol.wait`, while the previous
//   kernel
//     drains.
//
// Assumes: kAVector divides k(), kBVector divides k() (transposed) or n(), kEpilogueWidth divides
// n(); Config::kThreads threads; Config::sharedBytes(sizeof(Element)) of shared memory, 16-byte
// aligned; grid (tiles of C, clusterK, min(batches, 65535)), cluster (1, clusterK, 1). Along K,
// addresses up to blockK past the end may be computed but are not used.
// Cost: 2 M N K FLOPs; at least (M K + K N) * sizeof(Element) bytes from memory, and per tile of C
// (blockM + blockN) * K * sizeof(Element) bytes from L2.
#pragma once

#include "device/tile.cuh"
#include "kernels/gemm_config.cuh"
#include "kernels/gemm_epilogue.cuh"

namespace smelt {

template <class Config, class Problem> struct GemmTask {
  using Element = typename Problem::Element;
  static constexpr GemmTiling kTiling = Config::kTiling;
  static constexpr int kBlockM = kTiling.blockM, kBlockN = kTiling.blockN, kBlockK = kTiling.blockK;
  static constexpr int kStages = kTiling.stages, kClusterK = kTiling.clusterK;
  static constexpr int kThreads = kTiling.threads();
  static constexpr int kWarpM = kBlockM / kTiling.warpsM, kWarpN = kBlockN / kTiling.warpsN;
  static constexpr int kRowTiles = kWarpM / 16, kColumnTiles = kWarpN / 8;
  static constexpr bool kFloat = kIsSame<Element, float>;
  static constexpr int kStepK = 32 / sizeof(Element); // K of one mma: 32 bytes
  static constexpr int kSteps = kBlockK / kStepK;
  static constexpr int kChunksPerStep = 2; // of 16 bytes
  static constexpr int kWidth = Problem::kEpilogueWidth;

  static_assert(kIsHalfWidth<Element> || kFloat, "operands are half, bfloat16 or (tf32) float");
  static_assert(kBlockM % (16 * kTiling.warpsM) == 0, "a warp computes whole 16-row fragments");
  static_assert(kBlockN % (16 * kTiling.warpsN) == 0, "a warp computes whole 16-column fragments");
  static_assert(kBlockK % (2 * kStepK) == 0, "blockK is an even number of mma deep");
  static_assert(kStages >= 2, "the pipeline needs two stages");
  static_assert(kBlockM % kClusterK == 0,
                "every block of the cluster owns the same number of rows");
  static_assert(kClusterK == 1 || SMELT_HAS_CLUSTERS, "clusters need sm_90");
  static_assert(kWidth == 1 || kWidth == 2 || kWidth == 4 || kWidth == 8,
                "the epilogue takes 1, 2, 4 or 8 columns");

  using TileA = SharedTile<Element, kBlockM, kBlockK>;
  using TileB = Select<Problem::kBTransposed, SharedTile<Element, kBlockN, kBlockK>,
                       SharedTile<Element, kBlockK, kBlockN, kFloat>>;
  using Output = Epilogue<Problem, kWidth>;

  const Problem &problem;
  const uint32_t shared;
  const int warp, lane;
  const int warpRow, warpColumn; // of the warp's part of the tile
  int batch, row0, column0;      // of the tile in C
  int part, ownedRow; // rank in the cluster; first row of the tile that this block finishes
  int firstK, countK; // tiles of K that this block multiplies
  float sums[kRowTiles][kColumnTiles][4];
  uint32_t fragmentsA[kRowTiles][4], fragmentsB[2][kColumnTiles / 2][4];

  __device__ __forceinline__ GemmTask(const Problem &problem, char *sharedMemory)
      : problem(problem), shared(ptx::sharedAddress(sharedMemory)), warp(threadIdx.x / 32),
        lane(threadIdx.x % 32), warpRow(warp % kTiling.warpsM * kWarpM),
        warpColumn(warp / kTiling.warpsM * kWarpN) {}

  // --- Main loop ---

  __device__ __forceinline__ uint32_t stageA(int stage) const {
    return shared + stage * kTiling.stageBytes(sizeof(Element));
  }
  __device__ __forceinline__ uint32_t stageB(int stage) const {
    return stageA(stage) + TileA::kBytes;
  }

  __device__ __forceinline__ void copyA(int tileK, int stage) const {
    auto source = [this](int m, int k) { return problem.a(batch, m, k); };
    copyTile<TileA, Along::kColumns, Problem::kAVector, kThreads>(
        stageA(stage), source, row0, tileK * kBlockK, problem.m(), problem.k());
  }

  __device__ __forceinline__ void copyB(int tileK, int stage) const {
    if constexpr (Problem::kBTransposed) {
      auto source = [this](int n, int k) { return problem.b(batch, k, n); };
      copyTile<TileB, Along::kColumns, Problem::kBVector, kThreads>(
          stageB(stage), source, column0, tileK * kBlockK, problem.n(), problem.k());
    } else {
      auto source = [this](int k, int n) { return problem.b(batch, k, n); };
      copyTile<TileB, Along::kRows, Problem::kBVector, kThreads>(
          stageB(stage), source, tileK * kBlockK, column0, problem.k(), problem.n());
    }
  }

  /// Fills all stages but one; constant B before the wait for earlier kernels.
  __device__ __forceinline__ void fillPipeline() const {
    if constexpr (Problem::kBConstant) {
#pragma unroll
      for (int i = 0; i < kStages - 1; ++i)
        if (i < countK)
          copyB(firstK + i, i);
    }
    ptx::gridDependencyWait();
#pragma unroll
    for (int i = 0; i < kStages - 1; ++i) {
      if (i < countK) {
        copyA(firstK + i, i);
        if constexpr (!Problem::kBConstant)
          copyB(firstK + i, i);
      }
      ptx::copyAsyncCommit();
    }
  }

  __device__ __forceinline__ void loadA(int stage, int step, int i) {
    loadFragmentA<TileA>(stageA(stage), warpRow + 16 * i, step * kChunksPerStep, fragmentsA[i]);
  }

  __device__ __forceinline__ void loadB(int stage, int step) {
#pragma unroll
    for (int j = 0; j < kColumnTiles / 2; ++j) {
      int column = warpColumn + 16 * j;
      uint32_t (&f)[4] = fragmentsB[step % 2][j];
      if constexpr (Problem::kBTransposed)
        loadFragmentBTransposed<TileB>(stageB(stage), column, step * kChunksPerStep, f);
      else if constexpr (kFloat)
        loadFragmentBFloat<TileB>(stageB(stage), step * kStepK, column, f);
      else
        loadFragmentB<TileB>(stageB(stage), step * kStepK, column / 8, f);
    }
  }

  __device__ __forceinline__ static void roundToTf32(uint32_t (&f)[4]) {
#pragma unroll
    for (int r = 0; r < 4; ++r)
      f[r] = ptx::toTf32(f[r]);
  }

  /// Multiplies the fragments of `step` and fetches those of `nextStep` of `stage` behind them: B
  /// into its second buffer, each fragment of A into the registers that were just used.
  __device__ __forceinline__ void multiplyStep(int step, int stage, int nextStep) {
    loadB(stage, nextStep);
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
#pragma unroll
      for (int j = 0; j < kColumnTiles; ++j)
        ptx::mma(sums[i][j], fragmentsA[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1],
                 Element());
      loadA(stage, nextStep, i);
    }
  }

  __device__ __forceinline__ void clearSums() {
#pragma unroll
    for (int i = 0; i < kRowTiles; ++i)
#pragma unroll
      for (int j = 0; j < kColumnTiles; ++j)
#pragma unroll
        for (int r = 0; r < 4; ++r)
          sums[i][j][r] = 0.0f;
  }

  __device__ __forceinline__ void multiplyTiles() {
    clearSums();
    ptx::copyAsyncWait<kStages - 2>();
    __syncthreads();
    loadB(0, 0);
#pragma unroll
    for (int i = 0; i < kRowTiles; ++i)
      loadA(0, 0, i);
    int readStage = 0, writeStage = kStages - 1;
    for (int tile = 0; tile < countK; ++tile) {
      int nextStage = readStage + 1 == kStages ? 0 : readStage + 1;
      staticFor<0, kSteps>([&](auto step) {
        if constexpr (step == 0) {
          if (tile + kStages - 1 < countK) {
            copyA(firstK + tile + kStages - 1, writeStage);
            copyB(firstK + tile + kStages - 1, writeStage);
          }
          ptx::copyAsyncCommit();
          writeStage = writeStage + 1 == kStages ? 0 : writeStage + 1;
        }
        // Before the next tile is read: it has arrived, and nobody reads the one before any more.
        if constexpr (step == kSteps - 1) {
          ptx::copyAsyncWait<kStages - 2>();
          __syncthreads();
          readStage = nextStage;
        }
        multiplyStep(step, readStage, (step + 1) % kSteps);
      });
    }
    ptx::copyAsyncWait<0>();
  }

  // --- Epilogue ---
  //
  // Every block owns kOwnedRows rows of the tile (all of them without a cluster). The exchange
  // buffer holds, for each rank of the cluster, that rank's sums for the owned rows. A pass is one
  // vector of kWidth columns a thread; threads walk along the rows.

  static constexpr int kOwnedRows = kBlockM / kClusterK;
  static constexpr int kExchangeStride = kBlockN + GemmTiling::kExchangePadding;
  static constexpr int kVectors = kOwnedRows * kBlockN / kWidth;
  static constexpr int kPasses = ceilDiv(kVectors, kThreads);
  /// Bytes of registers, and passes, that a thread spends on the epilogue's inputs at a time. If
  /// all passes fit, their inputs are fetched before the main loop; else group by group, each while
  /// the one before it is computed.
  static constexpr int kInputBudget = kRowTiles * kColumnTiles <= 8 ? 128 : 64;
  static constexpr int kMaxGroup = kWidth >= 4 ? 8 : 4;
  static constexpr int kFitting =
      Output::kInputBytes == 0 ? 4 : ceilDiv(kInputBudget, Output::kInputBytes);
  static constexpr int kLimit = kFitting < kMaxGroup ? kFitting : kMaxGroup;
  static constexpr int kGroup = kPasses < kLimit ? kPasses : kLimit;
  static constexpr bool kFetchEarly = kGroup == kPasses;
  static constexpr int kGroups = ceilDiv(kPasses, kGroup);

  struct Group {
    typename Output::Inputs inputs[kGroup];
  };

  /// Position of this thread's vector in the owned rows; false if there is none inside C.
  __device__ __forceinline__ bool locate(int pass, int &row, int &column) const {
    int vector = threadIdx.x + pass * kThreads;
    row = vector / (kBlockN / kWidth);
    column = vector % (kBlockN / kWidth) * kWidth;
    return row < kOwnedRows && row0 + ownedRow + row < problem.m() &&
           column0 + column < problem.n();
  }

  __device__ __forceinline__ Group fetch(int group) const {
    Group fetched;
#pragma unroll
    for (int i = 0; i < kGroup; ++i) {
      int row, column;
      if (locate(group * kGroup + i, row, column))
        fetched.inputs[i] = Output::inputs(problem, batch, row0 + ownedRow + row, column0 + column);
    }
    return fetched;
  }

  /// Sends every row of the sums to the block that owns it, into the slot of this block's rank.
  __device__ __forceinline__ void sendSums(uint32_t exchange) const {
#pragma unroll
    for (int i = 0; i < kRowTiles; ++i)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        int row = warpRow + 16 * i + 8 * h + lane / 4;
        uint32_t target = exchange + (part * kOwnedRows + row % kOwnedRows) * kExchangeStride * 4 +
                          (warpColumn + lane % 4 * 2) * 4;
        if constexpr (kClusterK > 1)
          target = ptx::mapToRank(target, row / kOwnedRows);
#pragma unroll
        for (int j = 0; j < kColumnTiles; ++j) {
          if constexpr (kClusterK > 1)
            ptx::storeCluster(target + 32 * j, sums[i][j][2 * h], sums[i][j][2 * h + 1]);
          else
            ptx::storeShared(target + 32 * j, sums[i][j][2 * h], sums[i][j][2 * h + 1]);
        }
      }
  }

  __device__ __forceinline__ void finish(uint32_t exchange, int group, const Group &fetched) const {
#pragma unroll
    for (int i = 0; i < kGroup; ++i) {
      int row, column;
      if (!locate(group * kGroup + i, row, column))
        continue;
      uint32_t address = exchange + (row * kExchangeStride + column) * 4;
      float total[kWidth];
      loadSharedRow(address, total);
#pragma unroll
      for (int rank = 1; rank < kClusterK; ++rank) {
        float share[kWidth];
        loadSharedRow(address + rank * kOwnedRows * kExchangeStride * 4, share);
#pragma unroll
        for (int c = 0; c < kWidth; ++c)
          total[c] += share[c];
      }
      Output::run(problem, batch, row0 + ownedRow + row, column0 + column, total,
                  fetched.inputs[i]);
    }
  }

  // --- One tile ---

  __device__ __forceinline__ static void arrive() {
    if constexpr (kClusterK > 1)
      ptx::clusterArrive();
  }
  __device__ __forceinline__ static void wait() {
    if constexpr (kClusterK > 1)
      ptx::clusterWait();
    else
      __syncthreads();
  }

  /// Computes one tile of C for one batch; `tilePart` of kClusterK parts of K.
  __device__ __forceinline__ void run(int tileBatch, TileCoordinates tile, int tilePart) {
    batch = tileBatch;
    row0 = tile.m * kBlockM;
    column0 = tile.n * kBlockN;
    part = tilePart;
    ownedRow = part * kOwnedRows;
    int tilesK = ceilDiv(problem.k(), kBlockK);
    countK = tilesK / kClusterK + (part < tilesK % kClusterK);
    firstK = part * (tilesK / kClusterK) + min(part, tilesK % kClusterK);
    uint32_t exchange = shared + kTiling.sharedBytes(sizeof(Element)) - kTiling.exchangeBytes();

    arrive(); // this block runs, and has read the exchange buffer of its previous tile
    fillPipeline();
    Group fetched;
    if constexpr (kFetchEarly)
      fetched = fetch(0);
    multiplyTiles();
    if constexpr (!kFetchEarly)
      fetched = fetch(0);
    wait(); // nobody needs the memory under the exchange buffer any more
    sendSums(exchange);
    arrive();
    wait(); // all sums have arrived
#pragma unroll 1
    for (int group = 0; group < kGroups; ++group) {
      Group next;
      if (group + 1 < kGroups)
        next = fetch(group + 1);
      finish(exchange, group, fetched);
      fetched = next;
    }
    __syncthreads(); // the next tile's copies overwrite the stages and the exchange buffer
  }
};

/// The kernel's body: this block's tile of C, for every batch that its grid column serves.
template <class Config, class Problem>
__device__ __forceinline__ void gemm(const Problem &problem, char *shared) {
  using Task = GemmTask<Config, Problem>;
  ptx::gridDependencyLaunch();
  TileCoordinates tile = rasterize(blockIdx.x, ceilDiv(problem.m(), Task::kBlockM),
                                   ceilDiv(problem.n(), Task::kBlockN));
  Task task(problem, shared);
  for (int batch = blockIdx.z; batch < problem.batches(); batch += gridDim.z)
    task.run(batch, tile, blockIdx.y);
}

} // namespace smelt
