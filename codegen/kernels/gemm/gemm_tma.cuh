// C = epilogue(A * B) on Hopper's tensor cores, with operands that arrive by tensor maps (TMA).
//
// Problem: in large products the threads of gemm_wgmma spend their issue slots on addresses and
// copies, a barrier of the block stands between any two steps, and a tile's epilogue holds up the
// copies of the next: 8192^3 runs at half of what the tensor cores can do.
//
// Method
//   - Roles: one thread asks for boxes of A and B, two warpgroups multiply. They meet at a pair of
//     barriers a stage ("full", "empty") only; one multiplication stays in flight. Registers go
//     from the one to the others (setmaxnreg).
//   - Cooperative: the two multiply 64 rows each of one tile, for long K; of 64 columns where wider tiles
//     would leave multiprocessors without one; for few rows one warpgroup multiplies 64, with so many
//     stages that all of a short K is on its way at once; three multiply 192 rows where that fills the
//     multiprocessors just once. Where tiles are few and K is long, two blocks, or four, a cluster, take a part
//     of K each, exchange shares of their sums, and finish one each. Of rows that 128 divide badly, one warpgroup
//     has 64 of them and up to 256 columns. Ping-pong: each has every other tile to itself, all 128 rows, and
//     finishes it while the other one multiplies; they take turns at the ring of stages. For short K, where
//     finishing takes as long as multiplying.
//   - The hardware lays boxes out in the permutation that wgmma reads, 128 bytes a row: A and
//     B [n][k] in rows of 64 K (of bytes 128), B [k][n], which bytes cannot be, in panels of 64
//     columns, or of 32 with rows of 64 bytes. Edges are filled with zeros.
//   - Where K is a few steps, finishing takes longer than multiplying and two warpgroups leave most issue slots empty: three
//     have tiles of 64 rows in turn. All of a block's tiles have the same columns, so that B comes once and stays
//     (residentSteps): of boxes that K fills in part, the copies took longest.
//   - Warps that have nothing else to do prepare the epilogues of the next two tiles, or three: bring what they
//     read near, to L2, and combine the moments of their rows. Epilogues: gemm_tma_epilogue.cuh; short ones
//     gemm_fragment_epilogue.cuh.
//   - Boxes of the last tile of rows begin so far above it that they end where A does: every row that a box has too many is filled
//     up by the whole GPU in turn, 27 a clock, while those that exist come from the caches (rowsAbove).
//   - A block takes tile after tile; the next tile's boxes arrive during the epilogue of this one.
//   - Weights (kBConstant) fill the ring before `griddepcontrol.wait`.
//   - Of floats of 8 bits the sums of a step, or of two where results have 16 bits at most (kStepsOfPart), are added by the
//     ordinary cores (multiplyInParts): warpgroups keep two sets of sums, for which tiles of up to 192 columns leave registers. In
//     turn nobody would multiply meanwhile: beside B that stays three warpgroups have stages of their own, and warps that ask for
//     their boxes, and multiply as these arrive (runsFreely). Error norms of products of random e4m3 in halves, K = 768 and
//     14336: by steps 2.3e-4 and 2.1e-4, as much as cuBLASLt's without fast accumulation; by two 2.6e-4 and 2.3e-4; exact sums
//     that are rounded 2.1e-4; fast accumulation 4.0e-4 and 17e-4.
//
// Assumes: sm_90a; 16-bit operands or bytes; maps of the matrices with boxes of 128 bytes by blockM
// (A, or windows of images: gemm_tma_left.cuh), blockN (B [n][k]) or 64 (B [k][n]), 128-byte swizzle; k() > 0; one batch; Config::kThreads
// threads; grid (any number of blocks up to that of tiles); Config::sharedBytes() of shared memory and
// kRowMoments * sizeof(RowStatistics) for each row of two tiles, 1024-byte aligned.
// Cost: 2 M N K FLOPs at 4096 a clock and multiprocessor, twice as many of bytes; bytes as gemm.cuh.
// Ping-pong reads 96 bytes of shared memory a clock and has 64 written, more than the 128 that there are.
// Gain, of ping-pong over the best cooperative tiling, on one H200: 12608x3072x768 with GELU 108 us (120),
// 12608x2304x768 75 (80), 12608x768x768 with a residual 34 (36); of 64 columns over gemm_wgmma:
// 512x2048x8192 29 (42), 1024x768x3072 10.6 (15.5); of 192 x 192 over ping-pong: 2048x2304x768 12.8 (14.4),
// 4096x2304x768 23.4 (23.9); of 96 columns over any other: 512x2304x768 5.8 (6.5),
// 2048x768x768 6.8 (7.3); of two products over it: 4096x2x8192x2048 380 (424),
// 2048x2x4864x896 56 (70); of three in turn over any other, in models: 3136x1536x384 with a norm and GELU 14.3 (17.0),
// 50176x96x384 with a residual 19.1 (21.0); and of B that stays: 200704x96x16 with SiLU 24.8 (38.8), 50176x288x96 15.0 (19.5),
// 12544x768x192 with GELU 15.4 (17.1), 802816x64x256, windows, 77 (86); of three that run freely, with floats of 8 bits,
// 16384x768x768 20.1 (22.2), 16384x3072x768 78 (81), 4096x2304x768 17.8 (16.5); of three stages each for five 21 (20) and 80 (77);
// of two that have 192 columns 21 and 79. (Integers took 2 to 15 % longer so, and 8 % with five.) Of sums of two steps, with floats
// of 8 bits, over those of one: 16384x2304x768 57 (63), 4096x4096x4096 112 (118), 2048x4096x14336 182 (195). Two blocks that share the copies of B
// (multicast in clusters) took as long as one for itself, or longer, in 22 products. Of 128 x 256 clusters of two or four took
// longer than what is chosen (in models: T5's 4096x512x2048 4 %, Whisper's 1500x512x2048 11, DistilBERT's 1024x768x3072 10). Of 64
// rows, plain products, over any other: by 160 columns 1000x1280x5120 25 (32), 192 513x5120x1280 15.4 (17.5), 256 513x11008x4096 86 (109);
// by clusters of four 77x1024x4096 8.4 (9.9), 77x2048x8192 16.5 (19.7). Of boxes that end with A, over those that end with
// their tile: 77x4096x14336 by 64 x 64 37 (59), 77x32064x2048 by ping-pong of 64 x 128 43 (56), 197x8192x2048 by 64 x 64 in turn 22
// (31), 513x11008x4096 by 128 x 64 93 (179); the best tiling of each of 27 plain products of 77 to 320 rows 5 % on average.
#pragma once

#include "device/mbarrier.cuh"
#include "device/tma.cuh"
#include "device/wgmma.cuh"
#include "kernels/gemm/gemm_block.cuh"
#include "kernels/gemm/gemm_config.cuh"
#include "kernels/gemm/gemm_fragment_epilogue.cuh"
#include "kernels/gemm/gemm_tma_epilogue.cuh"
#include "kernels/gemm/gemm_tma_left.cuh"
#include "kernels/gemm/gemm_tma_shares.cuh"

namespace smelt {

/// `Left`: how A arrives, MatrixRows or WindowRows.
template <class Config, class Left, class Problem> struct GemmTmaTask {
  using ElementA = typename Problem::ElementA;
  using ElementB = typename Problem::ElementB;
  using Sum = typename Problem::Sum;
  static constexpr GemmTmaTiling kTiling = Config::kTiling;
  static constexpr int kBlockM = kTiling.blockM, kBlockN = kTiling.blockN;
  static constexpr int kBlockK = kWgmmaStepBytes / sizeof(ElementA), kStages = kTiling.stages;
  static constexpr int kConsumers = kTiling.consumers(), kTeams = kTiling.teams();
  static constexpr int kClusterK = kTiling.clusterK;           // blocks that share the K of a tile
  static constexpr int kTeamThreads = kConsumers / kTeams;     // which multiply a tile together
  static constexpr int kChains = kBlockM / (kTeamThreads / 2); // of 64 rows of one warpgroup
  static constexpr int kPreparingThreads = 96; // beside the warp whose thread asks for boxes
  static constexpr bool kBTransposed = Problem::kBTransposed;
  static constexpr bool kBytes = sizeof(ElementA) == 1;
  static constexpr int kStepK = 32 / sizeof(ElementA);  // of one multiplication
  static constexpr int kPanel = panelColumns(kBlockN);  // columns of a box of B [k][n]
  static constexpr int kBand = kBlockN > 128 ? 16 : 12; // rows of tiles that share columns of B
  static constexpr int kColumns = kTiling.exchangeColumns();
  static constexpr bool kInParts = kIsFloat8<ElementA>; // sums are those of steps
  static_assert(kBytes
                    ? kMultipliesBytes<ElementA, ElementB, Sum> && kBTransposed
                    : kIsHalfWidth<ElementA> && kIsSame<ElementA, ElementB> && kIsSame<Sum, float>,
                "operands are half or bfloat16 and sums float, or along K: bytes and int32_t, or "
                "floats of 8 bits and float");
  static_assert(kBlockN % kPanel == 0 && kBlockN <= 256, "boxes tile the columns");

  using TileA = SharedTile<ElementA, kBlockM, kBlockK>;
  using TileB = Select<kBTransposed, SharedTile<ElementB, kBlockN, kBlockK>,
                       PanelTile<ElementB, kBlockK, kBlockN, kPanel>>;
  static constexpr bool kKeepsB = kTiling.residentSteps > 0;
  static constexpr int kStageBytes = TileA::kBytes + (kKeepsB ? 0 : TileB::kBytes);
  static_assert(kStageBytes == kTiling.stageBytes(), "the host knows what a stage holds");
  static constexpr int kSlots = kTiling.tilesOfMoments(); // of what is prepared for tiles

  static constexpr bool kRunsFreely = kTiling.runsFreely();
  static constexpr int kRings = kRunsFreely ? kTeams : 1; // each of as many stages
  /// Where a team is among its stages.
  struct Ring : RingPosition<kStages / kRings> {
    int first;
    __device__ __forceinline__ explicit Ring(int team = 0)
        : first(kRunsFreely ? team * (kStages / kRings) : 0) {}
    __device__ __forceinline__ int at() const { return first + this->stage; }
  };
  using Epilogue = WarpEpilogue<Problem, kBlockN, kColumns, kChains>;
  using Sums = typename Epilogue::Sums;
  using Fragments = FragmentEpilogue<Problem, kBlockN, kChains>;
  using Shares = ClusterShares<Sum, kBlockN, kConsumers, kClusterK>;
  static_assert(kClusterK == 1 || (kChains == 1 && Shares::kBytes <= kStages * kStageBytes),
                "a warpgroup has one chain, and what blocks exchange fits their stages");
  static constexpr bool kInFragments = Problem::kInFragments && holdsFragments(kBlockN, kClusterK);
  static_assert(kConsumers <= 256 || kTeams > 1 || kInFragments,
                "three warpgroups have registers for no other");
  static constexpr bool kReads = kBytesOf<typename Epilogue::Inputs> > 0;
  static constexpr bool kPrepares = kReads || Problem::kRowMoments > 0;
  static_assert(!kRunsFreely || (kInFragments && !kPrepares && kRings <= 4),
                "a warp asks for the boxes of each ring, and has nothing to prepare");

  const Problem &problem;
  const TensorMap &mapA, &mapB;
  const uint32_t shared;
  const int tilesM, tilesN;
  const int firstStep, steps; // of this block

  __device__ __forceinline__ GemmTmaTask(const Problem &problem, const TensorMap &mapA,
                                         const TensorMap &mapB, uint32_t shared)
      : problem(problem), mapA(mapA), mapB(mapB), shared(shared),
        tilesM(ceilDiv(problem.m(), kBlockM)), tilesN(ceilDiv(problem.n(), kBlockN)),
        firstStep(rank() * stepsOfRank()),
        steps(min(stepsOfRank(), ceilDiv(problem.k(), kBlockK) - firstStep)) {}

  __device__ __forceinline__ static int rank() { return kClusterK == 1 ? 0 : blockIdx.y; }
  __device__ __forceinline__ int stepsOfRank() const {
    return ceilDiv(ceilDiv(problem.k(), kBlockK), kClusterK);
  }

  // --- The tiles of this block: one in gridDim.x; in a cluster, just one ---

  __device__ __forceinline__ int tileCount() const {
    return (tilesM * tilesN - int(blockIdx.x) + int(gridDim.x) - 1) / int(gridDim.x);
  }
  __device__ __forceinline__ TileCoordinates tileOf(int ordinal) const {
    int index = blockIdx.x + ordinal * gridDim.x;
    if constexpr (!kTiling.oneTile)
      index = inDirection(problem.reversed, index, tilesM * tilesN);
    if constexpr (kKeepsB)
      return {index / tilesN, index % tilesN}; // the grid is a multiple of tilesN
    else
      return rasterize<kBand>(index, tilesM, tilesN);
  }

  /// Rows by which boxes of the last tile of rows begin above it, in whole groups of the hardware's permutation, so that A ends
  /// where they do. Warpgroups multiply as many rows as ever, what lies behind the tile's among them, which nobody stores.
  __device__ __forceinline__ int rowsAbove(int tileM) const {
    constexpr int kGroupRows = 8;
    int missing = (tileM + 1) * kBlockM - problem.m();
    return tileM > 0 && missing > 0 ? missing / kGroupRows * kGroupRows : 0;
  }
  static_assert((kBlockM - 8) * kWgmmaStepBytes <=
                    kTiling.sharedBytes() - (kStages - 1) * kStageBytes - TileA::kBytes,
                "what lies behind the last stage's rows is the block's");

  // --- Shared memory: stages, exchange, barriers, moments ---

  __device__ __forceinline__ uint32_t stageA(int stage) const {
    return shared + stage * kStageBytes;
  }
  /// Of a step that has come to a stage.
  __device__ __forceinline__ uint32_t stageB(int stage, int step) const {
    return kKeepsB ? stageA(kStages) + step * TileB::kBytes : stageA(stage) + TileA::kBytes;
  }
  __device__ __forceinline__ uint32_t exchange(int warp) const {
    return stageA(kStages) + kTiling.residentBytes() +
           warp * Epilogue::kRows * Epilogue::kStride * 4;
  }
  __device__ __forceinline__ uint32_t full(int stage) const {
    return exchange(0) + kTiling.exchangeBytes() + stage * mbarrier::kBytes;
  }
  __device__ __forceinline__ uint32_t empty(int stage) const { return full(kStages + stage); }
  /// Of what is prepared for one tile: there is room for the moments of two.
  __device__ __forceinline__ uint32_t prepareFull(int slot) const {
    return full(2 * kStages + slot);
  }
  __device__ __forceinline__ uint32_t prepareEmpty(int slot) const {
    return prepareFull(kSlots + slot);
  }
  /// B has come to stay.
  __device__ __forceinline__ uint32_t arrivedB() const { return prepareEmpty(kSlots); }
  __device__ __forceinline__ uint32_t rows(int slot) const {
    return shared + kTiling.sharedBytes() +
           slot * kBlockM * Problem::kRowMoments * int(sizeof(RowStatistics));
  }

  __device__ __forceinline__ void initBarriers() const {
    for (int stage = 0; stage < kStages; ++stage) {
      mbarrier::init(full(stage), 1);
      mbarrier::init(empty(stage), kTeamThreads / 32);
    }
    for (int slot = 0; slot < kSlots; ++slot) {
      mbarrier::init(prepareFull(slot), kPreparingThreads);
      mbarrier::init(prepareEmpty(slot), kTeamThreads);
    }
    if constexpr (kKeepsB)
      mbarrier::init(arrivedB(), 1);
    mbarrier::publishInit();
  }

  // --- The thread that asks for boxes, or one for each ring of stages ---

  __device__ __forceinline__ void copyA(int stage, int step, const Left &rows) const {
    rows.template copy<kBlockM>(problem, stageA(stage), mapA, (firstStep + step) * kBlockK,
                                full(stage));
  }

  __device__ __forceinline__ void copyB(int stage, int step, int tile) const {
    int k = (firstStep + step) * kBlockK;
    uint32_t target = stageB(stage, step), barrier = kKeepsB ? arrivedB() : full(stage);
    if constexpr (kBTransposed) {
      tma::copyBox(target, mapB, k, tile * kBlockN, barrier);
    } else {
#pragma unroll
      for (int panel = 0; panel < kBlockN / kPanel; ++panel)
        tma::copyBox(target + panel * TileB::Panel::kBytes, mapB, tile * kBlockN + panel * kPanel,
                     k, barrier);
    }
  }

  __device__ __forceinline__ void copyResident() const {
    mbarrier::arriveExpecting(arrivedB(), steps * TileB::kBytes);
    for (int step = 0; step < steps; ++step)
      copyB(0, step, tileOf(0).n);
  }

  /// Of all tiles, or, with rings of their own, of those of the team `number`.
  __device__ __forceinline__ void produce(int number = 0) const {
    tma::prefetch(mapA);
    tma::prefetch(mapB);
    if (kKeepsB && Problem::kBConstant && number == 0)
      copyResident();
    int ahead =
        !kKeepsB && Problem::kBConstant ? min(kStages, steps) : 0; // steps of the first tile
    for (int step = 0; step < ahead; ++step) {
      mbarrier::arriveExpecting(full(step), kStageBytes);
      copyB(step, step, tileOf(0).n);
    }
    ptx::gridDependencyWait();
    ptx::gridDependencyLaunch();
    if (kKeepsB && !Problem::kBConstant && number == 0)
      copyResident();
    Ring ring(number);
#pragma unroll 1
    for (int ordinal = number; ordinal < tileCount(); ordinal += kRings) {
      TileCoordinates tile = tileOf(ordinal);
      Left rows = Left::at(problem, tile.m * kBlockM - rowsAbove(tile.m));
#pragma unroll 1
      for (int step = 0; step < steps; ++step) {
        int stage = ring.at();
        if (step >= ahead) {
          mbarrier::wait(empty(stage), ring.parity ^ 1);
          mbarrier::arriveExpecting(full(stage), kStageBytes);
          if constexpr (!kKeepsB)
            copyB(stage, step, tile.n);
        }
        copyA(stage, step, rows);
        ring.advance();
      }
      ahead = 0;
    }
  }

  // --- The warps that prepare epilogues ---

  /// Of a tile's results, those for which a row reads anything else than for columns before.
  static constexpr int columnsRead(int stored) {
    if constexpr (kInFragments)
      return Problem::kInputPeriod > 0 && Problem::kInputPeriod < stored ? Problem::kInputPeriod
                                                                         : stored;
    else
      return stored;
  }

  /// Asks for the lines of what the epilogue reads of each row.
  __device__ __forceinline__ void prefetchInputs(TileCoordinates tile, int thread) const {
    constexpr int kStored = kBlockN / Problem::kProducts;
    constexpr int kLine = 32; // columns: at most 128 bytes
    constexpr int kLines = ceilDiv(columnsRead(kStored), kLine);
    constexpr int kFewSteps = 24; // with 48, products took 1 to 4 % longer for it
    if (steps > kFewSteps)
      return;
#pragma unroll 1
    for (int i = thread; i < kBlockM * kLines; i += kPreparingThreads) {
      int row = tile.m * kBlockM + i / kLines, column = tile.n * kStored + i % kLines * kLine;
      if (row < problem.m() && column < problem.n() / Problem::kProducts)
        problem.prefetch(0, row, column);
    }
  }

  __device__ __forceinline__ void prepare() const {
    if constexpr (kPrepares) {
      int thread = threadIdx.x - kConsumers - 32;
      ptx::gridDependencyWait();
#pragma unroll 1
      for (int ordinal = 0; ordinal < tileCount(); ++ordinal) {
        int slot = ordinal % kSlots;
        mbarrier::wait(prepareEmpty(slot), ordinal / kSlots % 2 ^ 1);
        TileCoordinates tile = tileOf(ordinal);
        if constexpr (kReads)
          prefetchInputs(tile, thread);
        MomentsAhead<Problem, kBlockM, kPreparingThreads>::run(problem, tile.m * kBlockM, thread,
                                                               rows(slot));
        mbarrier::arrive(prepareFull(slot));
      }
    }
  }

  // --- The warpgroups that multiply ---

  /// Starts the multiplication of one step for 64 rows, or several, from `row` of the tile on, and adds to `sums` if it
  /// `Accumulates`.
  template <bool Accumulates = true>
  __device__ __forceinline__ void multiplyStep(Sums &sums, int stage, int step, int row) const {
    constexpr int kGroupRows = 8, kUnused = 16;
    constexpr int kRowBytes = kBTransposed ? kWgmmaStepBytes : kPanel * int(sizeof(ElementB));
    constexpr int kStepBytesA = kStepK * sizeof(ElementA);
    constexpr int kStepBytesB = kBTransposed ? kStepBytesA : kStepK * kRowBytes;
    constexpr int kRowBytesA = Left::kRowBytes, kPartSteps = kRowBytesA / kStepBytesA;
    wgmma::Operand a = wgmma::describe<kRowBytesA>(stageA(stage) + row * kRowBytesA,
                                                   kGroupRows * kRowBytesA, kUnused);
    wgmma::Operand b = wgmma::describe<kRowBytes>(stageB(stage, step), kGroupRows * kRowBytes,
                                                  kBTransposed ? kUnused : kBlockK * kRowBytes);
    wgmma::fence();
    staticFor<0, kBlockK / kStepK>([&](auto part) {
#pragma unroll
      for (int chain = 0; chain < kChains; ++chain)
        wgmma::Multiply<kBlockN, ElementA, ElementB, !kBTransposed>::template run<Accumulates ||
                                                                                  part != 0>(
            sums[chain],
            a.at(chain * 64 * kRowBytesA + part / kPartSteps * kBlockM * kRowBytesA +
                 part % kPartSteps * kStepBytesA),
            b.at(part * kStepBytesB));
    });
    wgmma::commit();
  }

  /// This warp reads the stage no more.
  __device__ __forceinline__ void release(int stage) const {
    if (threadIdx.x % 32 == 0)
      mbarrier::arrive(empty(stage));
  }

  __device__ __forceinline__ static void pin(Sums &sums) {
#pragma unroll
    for (int chain = 0; chain < kChains; ++chain)
      wgmma::pin(sums[chain]);
  }

  template <class Visit> __device__ __forceinline__ static void forEachSum(Visit visit) {
#pragma unroll
    for (int i = 0; i < kChains * kBlockN / 2; ++i)
      visit(i / (kBlockN / 2), i % (kBlockN / 2));
  }

  /// `hasArrived` is called when the last step has: all stages before it have, too. Of a cluster that has more blocks than K
  /// has steps, some have none.
  template <class HasArrived>
  __device__ __forceinline__ void multiply(Sums &sums, Ring &ring, int row,
                                           HasArrived hasArrived) const {
    forEachSum([&](int chain, int i) { sums[chain][i] = Sum(0); });
    pin(sums);
    if (kClusterK > 1 && steps <= 0)
      hasArrived();
    if constexpr (kInParts)
      return multiplyInParts(sums, ring, row, hasArrived);
    int last = ring.at();
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      int stage = ring.at();
      mbarrier::wait(full(stage), ring.parity);
      multiplyStep(sums, stage, step, row);
      if (step == steps - 1)
        hasArrived();
      wgmma::wait<1>();
      if (step > 0)
        release(last);
      last = stage;
      ring.advance();
    }
    wgmma::wait<0>();
    pin(sums);
    release(last);
  }

  /// Of floats of 8 bits tensor cores keep 14 bits of sums: those of a few steps begin with it, and are added by the ordinary
  /// cores while another warpgroup multiplies.
  template <class HasArrived>
  __device__ __forceinline__ void multiplyInParts(Sums &sums, Ring &ring, int row,
                                                  HasArrived hasArrived) const {
    constexpr int kSteps = Problem::kStepsOfPart;
    Sums ofPart;
    forEachSum([&](int chain, int i) { ofPart[chain][i] = Sum(0); });
    int step = 0;
#pragma unroll 1
    for (; step + kSteps <= steps; step += kSteps)
      addPart<kSteps>(sums, ofPart, ring, row, step, hasArrived);
    if constexpr (kSteps > 1) {
#pragma unroll 1
      for (; step < steps; ++step)
        addPart<1>(sums, ofPart, ring, row, step, hasArrived);
    }
  }

  /// Adds the sums of `Steps` steps from `first` on.
  template <int Steps, class HasArrived>
  __device__ __forceinline__ void addPart(Sums &sums, Sums &ofPart, Ring &ring, int row, int first,
                                          HasArrived hasArrived) const {
    int stages[Steps];
    pin(ofPart);
    staticFor<0, Steps>([&](auto part) {
      stages[part] = ring.at();
      mbarrier::wait(full(stages[part]), ring.parity);
      multiplyStep<part != 0>(ofPart, stages[part], first + part, row);
      if (first + part == steps - 1)
        hasArrived();
      ring.advance();
    });
    staticFor<0, Steps>([&](auto part) {
      wgmma::wait<Steps - 1 - part>();
      if constexpr (part == Steps - 1)
        pin(ofPart);
      release(stages[part]);
    });
    forEachSum([&](int chain, int i) { sums[chain][i] += ofPart[chain][i]; });
  }

  // A barrier tells the parity of a phase alone, so that a team may look at its stages only when
  // none of them waits for the phase before: when the other team's have all arrived.

  __device__ __forceinline__ static void awaitTurn(int team) {
    if (team == 0)
      ptx::barrierSync<1, 2 * kTeamThreads>();
    else if (kTeams == 2 || team == 1)
      ptx::barrierSync<2, 2 * kTeamThreads>();
    else
      ptx::barrierSync<3, 2 * kTeamThreads>();
  }
  __device__ __forceinline__ static void giveTurn(int team) {
    if (team == 0)
      ptx::barrierArrive<2, 2 * kTeamThreads>();
    else if (kTeams == 2 || team == 2)
      ptx::barrierArrive<1, 2 * kTeamThreads>();
    else
      ptx::barrierArrive<3, 2 * kTeamThreads>();
  }

  /// The warps that do not multiply have to come to the cluster's barriers too.
  __device__ __forceinline__ static void standBy() {
    if constexpr (kClusterK > 1) {
      __syncwarp();
      Shares::standBy();
    }
  }

  /// One tile's way from its sums to memory. Where that leads is known before the tile is multiplied, and what its first panel
  /// reads is on its way while the last steps are, if all warpgroups finish it: in turn another one multiplies meanwhile, and three
  /// lost 2 to 10 % by it. (Tiles of 256 columns have no registers for it.)
  struct Output {
    using Way = Select<kInFragments, Fragments, Epilogue>;
    static constexpr bool kBeginsEarly = kTeams == 1 && kBlockN <= 192;
    static constexpr int kPanels = Epilogue::kPanels / kClusterK;
    const int ordinal;
    Way way;
    typename Way::Group fetched;

    __device__ __forceinline__ Output(const GemmTmaTask &task, int ordinal)
        : ordinal(ordinal), way(task.wayOf(ordinal)) {}
    __device__ __forceinline__ void begin() {
      if constexpr (kInFragments)
        fetched = way.begin();
      else
        fetched = way.begin(rank() * kPanels);
    }
    __device__ __forceinline__ void beginEarly() {
      if constexpr (kBeginsEarly)
        begin();
    }
    __device__ __forceinline__ void finish(const GemmTmaTask &task, const Sums &sums) {
      static_assert(Epilogue::kPanels % kClusterK == 0, "blocks finish whole panels");
      int slot = ordinal % kSlots;
      if constexpr (!kBeginsEarly)
        begin();
      if constexpr (kPrepares)
        mbarrier::wait(task.prepareFull(slot), ordinal / kSlots % 2);
      if constexpr (kInFragments)
        way.run(sums, fetched);
      else
        way.run(sums, fetched, rank() * kPanels, (rank() + 1) * kPanels);
      if constexpr (kPrepares)
        mbarrier::arrive(task.prepareEmpty(slot));
    }
  };

  __device__ __forceinline__ typename Output::Way wayOf(int ordinal) const {
    constexpr int kStatisticsBytes = Problem::kRowMoments * int(sizeof(RowStatistics));
    TileCoordinates tile = tileOf(ordinal);
    int warp = threadIdx.x / 32, warpRow = warp % (kTeamThreads / 32) * Epilogue::kRows;
    uint32_t statistics = rows(ordinal % kSlots) + warpRow * kStatisticsBytes;
    int row = tile.m * kBlockM + warpRow, column = tile.n * kBlockN / Problem::kProducts;
    if constexpr (kInFragments)
      return {problem, statistics, row, column};
    else
      return {problem, exchange(warp), statistics, row, column};
  }

  __device__ __forceinline__ void consume(int group) const {
    ptx::gridDependencyWait();
    if constexpr (kKeepsB)
      mbarrier::wait(arrivedB(), 0);
    int team = kTeams == 1 ? 0 : group, row = kTeams == 1 ? group * 64 : 0, count = tileCount();
    constexpr bool kTakesTurns = kTeams > 1 && !kRunsFreely;
    Ring ring(team);
    if constexpr (kTakesTurns)
      ring.advance(team * steps);
#pragma unroll 1
    for (int ordinal = team; ordinal < count; ordinal += kTeams) {
      Output output(*this, ordinal);
      if (kTakesTurns && ordinal > 0)
        awaitTurn(team);
      Sums sums;
      multiply(sums, ring, row + rowsAbove(tileOf(ordinal).m), [&] {
        if (kTakesTurns && ordinal + 1 < count)
          giveTurn(team);
        output.beginEarly();
      });
      if constexpr (kTakesTurns)
        ring.advance((kTeams - 1) * steps);
      if constexpr (kClusterK > 1)
        Shares::exchange(sums[0], shared, rank());
      output.finish(*this, sums);
    }
  }
};

/// The kernel's body. The maps are parameters of the kernel.
template <class Config, class Left = MatrixRows, class Problem>
__device__ __forceinline__ void gemmTma(const Problem &problem, const TensorMap &mapA,
                                        const TensorMap &mapB, char *sharedMemory) {
  using Task = GemmTmaTask<Config, Left, Problem>;
  Task task(problem, mapA, mapB, ptx::sharedAddress(sharedMemory));
  if (threadIdx.x == 0)
    task.initBarriers();
  __syncthreads();
  int group = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0); // the same for the whole warp
  if (group == Task::kConsumers / 128) {
    if constexpr (Config::kMovesRegisters)
      wgmma::lowerRegisters<Config::kProducerRegisters>();
    int warp = (threadIdx.x - Task::kConsumers) / 32;
    if (warp < Task::kRings && threadIdx.x % 32 == 0)
      task.produce(warp);
    else if (warp >= Task::kRings)
      task.prepare();
    task.standBy();
  } else {
    if constexpr (Config::kMovesRegisters)
      wgmma::raiseRegisters<Config::kConsumerRegisters>();
    task.consume(group);
  }
}

} // namespace smelt
