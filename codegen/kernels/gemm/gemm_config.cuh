// Tilings of the GEMM templates: what they are, which ones to choose from. What they cost: gemm_costs.h, gemm_mma_costs.h.
//
// Plain C++: the host's selection and the device templates read the same formulas.
//
// What wins where (times on one H200, weights from memory, chains of dependent kernels,
// programmatic launch; cuBLAS through PyTorch in the same session, without activation and residual,
// in brackets):
//   - sm_90a, 16-bit, more than 32 rows: gemm_wgmma. 128x768x768 2.6 us (4.0), 128x2304x768 3.5
//     (4.9), 128x3072x768 3.8 (5.2), 128x768x3072 5.6 (8.3), 197x3072x768 5.4 (5.4).
//   - of these up to about 1024, whose operands have maps: gemm_tma_tile. In models 128x2304x768 takes 0.6 us less,
//     128x3072x768 0.6, 128x768x3072 0.6, 1024x768x3072 1.6.
//   - many rows: gemm_tma. 4096x768x768 10.4 us (9.6), 4096x768x3072 30 (28); in ping-pong
//     4096x2304x768 27 (24), 4096x3072x768 36 (32), 12608x2304x768 75 (80); with columns of 256
//     4096x4096x4096 196 (210), 8192x8192x8192 1750 (1740).
//   - up to 32 rows: gemm with kGemmFewRows. 1x768x768 1.8 us, 16x3072x768 2.5.
//   - N and K up to 512, up to 128 rows: gemm with kGemmSmall. 128x384x384 1.8 us (3.5).
//   - float: gemm with GemmSplitConfig. Up to 256 rows clusterK 4, 128x384x384 4.4 us (14.2),
//     128x1536x384 7.3 (14.4), 128x384x1536 10.5 (33); else 64 x 64, 4096x384x1536 93, or 128 x 64,
//     4096x768x768 85 (130). gemm_simt where tf32 is slow or blocks are few: 128x384x384 4.2 us,
//     128x384x1536 9.8, 4096x768x768 148.
#pragma once

namespace smelt {

/// Columns of each of two products that are one with columns that take turns; as many as an
/// epilogue takes at most.
inline constexpr int kTurnColumns = 8;

/// Columns of the results that gemm_fragment_epilogue.cuh finishes at a time.
inline constexpr int kFragmentColumns = 32;

/// Whether they tile a block's columns, of which it finishes all.
constexpr bool holdsFragments(int blockN, int clusterK) {
  return clusterK == 1 && blockN % kFragmentColumns == 0;
}

/// Floats by which a row is padded in an exchange buffer (see gemm_epilogue.cuh).
inline constexpr int kExchangePadding = 8;

/// One way of cutting C = A * B. A block of warpsM x warpsN warps computes blockM x blockN elements
/// of C in steps of blockK, with `stages` steps in shared memory. clusterK > 1: that many blocks, a
/// cluster, share one tile of C and each takes a part of K (sm_90 only). warpsK > 1: so many groups
/// of warps share the K of every step.
struct GemmTiling {
  int blockM, blockN, blockK;
  int warpsM, warpsN;
  int stages;
  int clusterK;
  int warpsK = 1;

  constexpr int threads() const { return warpsM * warpsN * warpsK * 32; }

  constexpr int stageBytes(int elementBytes) const {
    return (blockM + blockN) * blockK * elementBytes;
  }

  /// Float tiles through which sums become rows for the epilogue and reach other blocks.
  constexpr int exchangeBytes() const { return warpsK * blockM * (blockN + kExchangePadding) * 4; }

  /// Dynamic shared memory of one block. The exchange buffer reuses the stages, except in a
  /// cluster, where peers may still be multiplying when the first sums arrive.
  constexpr int sharedBytes(int elementBytes) const {
    int pipeline = stages * stageBytes(elementBytes);
    if (clusterK > 1)
      return pipeline + exchangeBytes();
    return pipeline > exchangeBytes() ? pipeline : exchangeBytes();
  }
};

template <int BlockM, int BlockN, int BlockK, int WarpsM, int WarpsN, int Stages, int ClusterK,
          int WarpsK = 1>
struct GemmConfig {
  static constexpr GemmTiling kTiling{BlockM, BlockN, BlockK,   WarpsM,
                                      WarpsN, Stages, ClusterK, WarpsK};
  static constexpr int kThreads = kTiling.threads();
  static constexpr int kMinBlocks = 1; // without it the assembler spills for more blocks
  static constexpr bool kSplits = false;
  static constexpr int sharedBytes(int elementBytes) { return kTiling.sharedBytes(elementBytes); }
};

/// The same for floats that are split into sums of two tf32, for float's accuracy.
struct GemmSplitTiling : GemmTiling {};

template <int BlockM, int BlockN, int BlockK, int WarpsM, int WarpsN, int Stages, int ClusterK>
struct GemmSplitConfig : GemmConfig<BlockM, BlockN, BlockK, WarpsM, WarpsN, Stages, ClusterK> {
  static constexpr bool kSplits = true;
};

/// Bytes of one step along K of the tilings for wgmma: of 16-bit operands 64 elements, of bytes 128.
inline constexpr int kWgmmaStepBytes = 128;

/// The same for wgmma (sm_90a, 16-bit operands or bytes): every 64 rows belong to a warpgroup of four
/// warps that computes 64 x blockN elements; steps are 128 bytes deep. blockN is 32, 48, 64, 96, 128,
/// 192 or 256. `helpers` more warpgroups only copy operands and finish rows: in small tiles that, not
/// the multiplication, is what takes time.
struct GemmWgmmaTiling {
  int blockM, blockN;
  int stages;
  int clusterK;
  int helpers = 0;

  constexpr int threads() const { return blockM * 2 + helpers * 128; }
  /// Blocks that one multiprocessor must be able to hold, for __launch_bounds__: two where shared
  /// memory and the registers of the sums allow, so that one block's epilogue, or the next kernel's
  /// start, overlaps another's main loop.
  constexpr int minBlocks() const {
    return threads() <= 256 && sharedBytes() <= 113 * 1024 && blockN != 96 ? 2 : 1;
  }
  constexpr int stageBytes() const { return (blockM + blockN) * kWgmmaStepBytes; }
  constexpr int exchangeBytes() const { return blockM * (blockN + kExchangePadding) * 4; }
  constexpr int sharedBytes() const {
    int pipeline = stages * stageBytes();
    if (clusterK > 1)
      return pipeline + exchangeBytes();
    return pipeline > exchangeBytes() ? pipeline : exchangeBytes();
  }
};

template <int BlockM, int BlockN, int Stages, int ClusterK, int Helpers = 0>
struct GemmWgmmaConfig {
  static constexpr GemmWgmmaTiling kTiling{BlockM, BlockN, Stages, ClusterK, Helpers};
  static constexpr int kThreads = kTiling.threads();
  static constexpr int kMinBlocks = kTiling.minBlocks();
  static constexpr int sharedBytes() { return kTiling.sharedBytes(); }
};

/// The tilings to choose from on sm_90a.
inline constexpr GemmWgmmaTiling kGemmWgmmaTilings[] = {
    {64, 32, 6, 1},   {64, 32, 8, 2},    {64, 32, 6, 4},   {64, 64, 7, 1, 1},
    {64, 64, 6, 2},   {64, 64, 5, 4, 1}, {128, 64, 5, 4},  {64, 128, 5, 1},
    {128, 128, 5, 1}, {192, 128, 4, 1},  {128, 256, 4, 1}, {256, 128, 4, 1},
};

/// More of them for bytes of which K holds up to kShallowBytes: as soon as a product has begun it has
/// ended, and what takes time is to quantise it. Two blocks share a multiprocessor.
inline constexpr GemmWgmmaTiling kGemmShallowTilings[] = {
    {64, 128, 3, 1}, {128, 64, 3, 1}, {128, 128, 3, 1}};
inline constexpr int kShallowBytes = 640;

/// Columns of a panel of B [k][n], one box of 16-bit elements, whose rows are as long as the hardware permutes them.
/// (Whole panels of 64 of which a tile of 96 columns reads half of the last: correct, but boxes across lines of
/// memory arrive more slowly still. 2048x768x768 took an H100 11.6 us, and 7.2 by panels of 32.)
constexpr int panelColumns(int blockN) { return blockN % 64 == 0 ? 64 : 32; }

/// The same for wgmma fed by tensor maps (sm_90a, gemm_tma.cuh): one thread asks for the operands of
/// one warpgroup for every 64 rows, or of two that multiply whole tiles of 128 rows in turn, or three that do so with tiles of
/// 64 (pingPong). blockM is 64, 128 or 192; blockN is 64, 96, 128, 160, 192 or 256; of ping-pong, whose warpgroups have registers
/// for no more, at most 128. clusterK divides the panels of exchangeColumns(). With one tile a block (gemm_tma_tile.cuh) blockM is 64, blockN 32, 64, 96 or 128, and clusterK any.
struct GemmTmaTiling {
  int blockM, blockN;
  int stages;
  bool pingPong;
  int clusterK = 1;
  bool oneTile = false; ///< a block, which all its threads finish
  int residentSteps =
      0; ///< all that K has at most: B stays in shared memory while rows pass by; 0: it comes with A

  static constexpr int kBarrierBytes = 8;

  /// Tiles that are computed at a time.
  constexpr int teams() const { return !pingPong ? 1 : blockM == 64 ? 3 : 2; }
  /// Each team has stages of its own, and multiplies when these have arrived; else they take turns at all stages.
  constexpr bool runsFreely() const { return residentSteps > 0 && stages % teams() == 0; }
  /// For rows that no other tile divides well.
  constexpr bool isForOddRows() const {
    return (blockM == 64 && blockN > 128) || (!oneTile && clusterK > 2);
  }
  constexpr int consumers() const { return pingPong ? teams() * 128 : blockM * 2; } // threads
  /// Tiles whose rows' moments are kept.
  constexpr int tilesOfMoments() const { return teams() > 2 ? teams() : 2; }
  constexpr int threads() const { return consumers() + 128; }
  constexpr int stageBytes() const {
    return (blockM + (residentSteps > 0 ? 0 : blockN)) * kWgmmaStepBytes;
  }
  constexpr int residentBytes() const { return residentSteps * blockN * kWgmmaStepBytes; }
  /// Columns of a warp's sums that pass through shared memory at a time.
  constexpr int exchangeColumns() const {
    if (oneTile)
      return blockN; // of all warps
    return blockN > 128 || blockN % 64 != 0 || blockN / clusterK < 64 ? 32 : 64;
  }
  /// Of 16 rows a warp; who runs freely finishes results where the sums lie.
  constexpr int exchangeBytes() const {
    if (runsFreely())
      return 0;
    return consumers() / 2 * (exchangeColumns() + kExchangePadding) * 4;
  }
  /// Dynamic shared memory of one block: nothing is used twice, for copies run ahead of the epilogue.
  constexpr int sharedBytes() const {
    // A pair for every stage, and for the rows of every tile; one for what stays.
    int barriers = 2 * (stages + tilesOfMoments()) + (residentSteps > 0 ? 1 : 0);
    return stages * stageBytes() + residentBytes() + exchangeBytes() + barriers * kBarrierBytes;
  }
};

template <int BlockM, int BlockN, int Stages, bool PingPong, int ClusterK = 1, bool OneTile = false,
          int ResidentSteps = 0>
struct GemmTmaConfig {
  static constexpr GemmTmaTiling kTiling{BlockM,   BlockN,  Stages,       PingPong,
                                         ClusterK, OneTile, ResidentSteps};
  static constexpr int kThreads = kTiling.threads();
  static constexpr int kMinBlocks = 1;
  /// One warpgroup that multiplies has as many registers as a thread may.
  static constexpr bool kMovesRegisters = kTiling.consumers() > 128;
  // Of a thread: 128 * 56 + 256 * 224 is just below what a multiprocessor has, 128 * 56 + 384 * 152 all of it.
  static constexpr int kProducerRegisters = 56,
                       kConsumerRegisters = kTiling.consumers() > 256 ? 152 : 224;
  static constexpr int sharedBytes() { return kTiling.sharedBytes(); }
};

inline constexpr GemmTmaTiling kGemmTmaTilings[] = {
    {128, 64, 7, false},          {128, 128, 5, false},         {128, 192, 5, false},
    {128, 256, 4, false},         {128, 128, 5, true},          {64, 64, 12, false},
    {64, 128, 8, false},          {64, 64, 12, false, 2},       {64, 128, 8, false, 2},
    {128, 128, 5, false, 2},      {128, 192, 4, false, 2},      {128, 96, 7, false},
    {128, 160, 5, false},         {64, 128, 6, true},           {64, 96, 7, true},

    {64, 32, 12, false, 1, true}, {64, 64, 12, false, 1, true}, {64, 96, 9, false, 1, true},
    {64, 128, 7, false, 1, true}, {64, 64, 12, false, 2, true}, {64, 64, 12, false, 4, true},

    {64, 160, 7, false},          {64, 192, 6, false},          {64, 256, 5, false},
    {64, 128, 8, false, 4},       {128, 128, 5, false, 4}};

/// More of them for a short K, of which every multiprocessor keeps all of its columns of B. What is short with 16-bit elements
/// is `residentSteps` * 64.
inline constexpr GemmTmaTiling kGemmResidentTilings[] = {{64, 128, 8, true, 1, false, 6},
                                                         {64, 96, 8, true, 1, false, 6},
                                                         {64, 64, 8, true, 1, false, 6}};

/// The same for results that gemm_fragment_epilogue.cuh finishes, of floats of 8 bits, whose warpgroups take no turns.
inline constexpr GemmTmaTiling kGemmFreeTilings[] = {{64, 128, 15, true, 1, false, 6}};

/// The same tiling with half of twelve stages, where these hold all `kBytes` bytes along K: blocks of the kernels before
/// and after then find room on the same multiprocessor.
constexpr GemmTmaTiling withoutIdleStages(GemmTmaTiling tiling, long long kBytes) {
  constexpr int kManyStages = 12;
  if (tiling.stages == kManyStages && tiling.clusterK == 1 &&
      kBytes <= kManyStages / 2 * kWgmmaStepBytes)
    tiling.stages = kManyStages / 2;
  return tiling;
}

/// Of a K of a single step two stages, of which the pipeline keeps one free, so that more blocks find room on a multiprocessor:
/// 200704x32x27 with SiLU took an H200 17.6 us by six stages, by two 13.8. (Of more steps nothing was gained, and MiniLM at
/// 1x128, whose projections by K of 384 had four stages for six, took 1.3 us longer.)
constexpr GemmTiling withoutIdleStages(GemmTiling tiling, long long k) {
  if (k <= (long long)(tiling.blockK) * tiling.clusterK)
    tiling.stages = 2;
  return tiling;
}

/// Warpgroups have registers for a second set of sums: those of a step, of floats of 8 bits.
constexpr bool holdsSumsOfSteps(const GemmTmaTiling &t) {
  return (!t.pingPong || t.blockM == 64) && t.blockN <= 192;
}
constexpr bool holdsSumsOfSteps(const GemmWgmmaTiling &t) {
  return t.blockN <= 128 && t.threads() <= 384 && (t.blockM == 64 || t.minBlocks() == 1);
}

/// More of them for results that gemm_fragment_epilogue.cuh finishes: beside the sums, three warpgroups have no
/// registers for other epilogues (2048x768x768 with a residual: 19 us, by 128 x 96 6.8).
inline constexpr GemmTmaTiling kGemmFragmentTilings[] = {{192, 192, 4, false}};

/// The blocks that take tiles in turn so that each has columns of its own, of which there are `tilesN` tiles: the most that
/// multiprocessors hold at once, but one for each tile of columns.
constexpr long long wholeColumns(long long multiprocessors, long long tilesN) {
  return multiprocessors < tilesN ? tilesN : multiprocessors - multiprocessors % tilesN;
}

/// Tilings of the portable template to choose from, by use.
inline constexpr GemmTiling kGemmFewRows{16, 32, 128, 1, 2, 6, 1, 2};
inline constexpr GemmTiling kGemmFewRowsSplit{16, 64, 128, 1, 4, 4, 4}; // sm_90: long K
inline constexpr GemmTiling kGemmSmall{32, 32, 64, 2, 2, 6, 1};
inline constexpr GemmTiling kGemmPortable[] = {{64, 32, 64, 2, 2, 6, 1},
                                               {64, 64, 64, 2, 2, 4, 1},
                                               {64, 128, 64, 2, 2, 4, 1},
                                               {128, 128, 64, 2, 4, 3, 1}};
inline constexpr GemmTiling kGemmTf32[] = {{64, 64, 32, 2, 2, 4, 1},
                                           {64, 64, 32, 2, 2, 4, 2},
                                           {64, 64, 32, 2, 2, 4, 4},
                                           {128, 128, 32, 2, 4, 3, 1}};
inline constexpr GemmSplitTiling kGemmSplitTilings[] = {
    {{64, 64, 32, 2, 2, 4, 1}}, {{64, 64, 32, 2, 2, 4, 4}}, {{128, 64, 32, 2, 2, 3, 1}}};

/// The same for bytes: rows as long as those of 16-bit elements, twice as deep in K.
inline constexpr GemmTiling kGemmInt8[] = {{16, 32, 256, 1, 2, 6, 1, 2}, {16, 64, 256, 1, 4, 4, 4},
                                           {32, 32, 128, 2, 2, 6, 1},    {64, 32, 128, 2, 2, 6, 1},
                                           {64, 64, 128, 2, 2, 4, 1},    {64, 128, 128, 2, 2, 4, 1},
                                           {128, 128, 128, 2, 4, 3, 1}};

/// The same for the 32-bit GEMM without tensor cores: every thread computes threadM x threadN
/// elements. clusterK as above.
struct GemmSimtTiling {
  int blockM, blockN, blockK;
  int threadM, threadN;
  int stages;
  int clusterK;

  constexpr int threadsM() const { return blockM / threadM; }
  constexpr int threadsN() const { return blockN / threadN; }
  constexpr int threads() const { return threadsM() * threadsN(); }
  constexpr int stageBytes() const { return (blockM + blockN) * blockK * 4; }
  constexpr int exchangeBytes() const { return blockM * (blockN + kExchangePadding) * 4; }
  constexpr int sharedBytes() const {
    int pipeline = stages * stageBytes();
    if (clusterK > 1)
      return pipeline + exchangeBytes();
    return pipeline > exchangeBytes() ? pipeline : exchangeBytes();
  }
};

template <int BlockM, int BlockN, int BlockK, int ThreadM, int ThreadN, int Stages, int ClusterK>
struct GemmSimtConfig {
  static constexpr GemmSimtTiling kTiling{BlockM,  BlockN, BlockK,  ThreadM,
                                          ThreadN, Stages, ClusterK};
  static constexpr int kThreads = kTiling.threads();
  static constexpr int kMinBlocks = 1;
  static constexpr int sharedBytes() { return kTiling.sharedBytes(); }
};

/// Tilings of the 32-bit template by use: many rows; up to 256 rows (sm_90); up to 16 rows (sm_90).
inline constexpr GemmSimtTiling kGemmSimtTilings[] = {{128, 128, 16, 8, 8, 3, 1},
                                                      {64, 64, 16, 8, 4, 4, 1},
                                                      {64, 64, 32, 4, 8, 3, 4},
                                                      {32, 64, 32, 4, 4, 4, 4},
                                                      {16, 64, 32, 2, 4, 4, 8}};

} // namespace smelt
