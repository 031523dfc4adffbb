// Tilings of the GEMM templates: what they are, what they cost, which ones to choose from.
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
/// for no more, at most 128. clusterK is 1 or 2. With one tile a block (gemm_tma_tile.cuh) blockM is 64, blockN 32, 64, 96 or 128, and clusterK any.
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
  /// Of 16 rows a warp.
  constexpr int exchangeBytes() const {
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
    {64, 128, 7, false, 1, true}, {64, 64, 12, false, 2, true}, {64, 64, 12, false, 4, true}};

/// More of them for a short K, of which every multiprocessor keeps all of its columns of B. What is short with 16-bit elements
/// is `residentSteps` * 64.
inline constexpr GemmTmaTiling kGemmResidentTilings[] = {{64, 128, 8, true, 1, false, 6},
                                                         {64, 96, 8, true, 1, false, 6},
                                                         {64, 64, 8, true, 1, false, 6}};

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

/// More of them for results that gemm_fragment_epilogue.cuh finishes: beside the sums, three warpgroups have no
/// registers for other epilogues (2048x768x768 with a residual: 19 us, by 128 x 96 6.8).
inline constexpr GemmTmaTiling kGemmFragmentTilings[] = {{192, 192, 4, false}};

/// Clocks in which an H200's memory brings B once: no tiling of few rows takes fewer.
constexpr double clocksOfWeights(long long n, long long kBytes, long long batches) {
  constexpr double kBytesOfClock = 2174; // 4.0 TB/s at 1.84 GHz
  return double(n) * double(kBytes) * double(batches) / kBytesOfClock;
}

/// Few rows and a long K, in steps: memory brings B for most of the time.
constexpr bool streamsWeights(long long rows, long long steps) {
  return rows <= 256 && steps >= 64;
}

/// Clocks in which an H200's L2 brings what `blocks` of `steps` steps copy of such a product, B among it once for each of their
/// tiles of rows: 128x14336x4096 takes 38 us by 64 x 128 in turn, by 128 x 128 34.5. (The costs of others are fitted with it.)
constexpr double clocksOfCopies(double blocks, double steps, double stepBytes) {
  constexpr double kBytesOfClock = 6000;
  return blocks * steps * stepBytes / kBytesOfClock;
}

/// How much longer memory takes to bring B once where clusters of blocks that share K are more than fit the GPU at once, so
/// that they ask for parts of it that lie apart; `blocks` are those of all clusters.
constexpr double weightsOfClusters(int clusterK, double blocks, int multiprocessors) {
  constexpr double kApart = 1.35;
  return clusterK > 1 && blocks > multiprocessors ? kApart : 1;
}

/// Clocks of gemm_wgmma's parts: of a step beside what the tensor cores take, the same of tiles of 32 columns, of each
/// element of a tile in a step; of a tile beside its sums, of each sum; of a cluster's exchange, and for each of its blocks.
struct GemmWgmmaCosts {
  double wait, waitNarrow, multiply, tile, finish, exchange, exchangeOfBlock;
  double feed;        ///< bytes a clock that arrive in one multiprocessor's stages
  double secondBlock; ///< what two blocks of one multiprocessor take, in times of one
  double together;    ///< share of the time in which they hide each other's waiting
};

/// Those of 16-bit operands are fitted with gemmTmaCosts(). A step of bytes holds twice as many elements at twice the rate;
/// fitted to 30 products, beside 198 measured cases of halves (m 128 to 12608, n and k 384 to 4096).
constexpr GemmWgmmaCosts gemmWgmmaCosts(bool isBytes, bool callsFunctionsAtOnce = false) {
  if (isBytes)
    return {225, 275, 0.037, 880, 0.45, 1040, 276, 1e9, 1.37, 0};
  GemmWgmmaCosts costs = {213, 307, 0.031, 1005, 0.188, 1300, 276, 36.7, 1.34, 0.223};
  if (callsFunctionsAtOnce)
    costs.finish += 0.1;
  return costs;
}

/// Blocks a multiprocessor takes, in times of one block. With two side by side the last ones may find it half empty.
constexpr double wavesOfPairs(double waves, const GemmWgmmaCosts &costs) {
  if (waves <= 1)
    return 1;
  double inTurn = waves > costs.secondBlock ? waves : costs.secondBlock,
         inPairs = costs.secondBlock * double((long long)(waves / 2 + 1 - 1e-9));
  return costs.together * inPairs + (1 - costs.together) * inTurn;
}

/// Clocks that Hopper takes for C (m x n) with `kBytes` bytes along K: steps, then what becomes of the sums. With three
/// stages copies have one step to arrive, and two blocks hide a part of each other's epilogue.
constexpr double estimatedClocks(const GemmWgmmaTiling &t, int multiprocessors, long long m,
                                 long long n, long long kBytes, long long batches = 1,
                                 GemmWgmmaCosts costs = gemmWgmmaCosts(false)) {
  // Of clusters of four whose blocks have a multiprocessor each, not all multiprocessors hold one.
  constexpr double kFilled = 0.73;
  double area = double(t.blockM) * t.blockN, wait = t.blockN == 32 ? costs.waitNarrow : costs.wait;
  if (t.stages <= 3) {
    wait = 400;
    costs.secondBlock = 1.8;
    costs.finish *= 0.82;
  }
  double blocks = double((m + t.blockM - 1) / t.blockM) * double((n + t.blockN - 1) / t.blockN) *
                  t.clusterK * double(batches);
  long long allSteps = (kBytes + kWgmmaStepBytes - 1) / kWgmmaStepBytes,
            steps = (allSteps + t.clusterK - 1) / t.clusterK;
  // Rows that a tile has too many are not read: at 197 rows 128 x 64 is 9 % faster than at 256.
  long long tilesM = m > 0 ? (m + t.blockM - 1) / t.blockM : 1;
  double rows = double(m) / double(tilesM);
  double step = wait + costs.multiply * area,
         feed = (rows + t.blockN) * kWgmmaStepBytes / costs.feed;
  double end = costs.tile + costs.finish * area +
               (t.clusterK == 1 ? 0 : costs.exchange + costs.exchangeOfBlock * t.clusterK);
  double block = double(steps) * (step > feed ? step : feed) + end;
  bool leavesSome = t.clusterK >= 4 && t.minBlocks() == 1;
  double waves = blocks / (multiprocessors * (leavesSome ? kFilled : 1));
  waves = t.minBlocks() > 1 ? wavesOfPairs(waves, costs) : double((long long)(waves + 1 - 1e-9));
  // Copies of 16 bytes by threads keep memory less busy than boxes where blocks are few.
  constexpr double kByFewBlocks = 1.09;
  bool streams = streamsWeights(m, allSteps);
  double clocks = (waves < 1 ? 1 : waves) * block,
         least = clocksOfWeights(n, kBytes, batches) *
                     (t.clusterK > 1 && streams ? kByFewBlocks : 1) *
                     weightsOfClusters(t.clusterK, blocks, multiprocessors) +
                 end,
         copies = clocksOfCopies(blocks, double(steps), (rows + t.blockN) * kWgmmaStepBytes);
  clocks = streams && copies > clocks ? copies : clocks;
  return clocks > least ? clocks : least;
}

/// Clocks of gemm_tma's parts: before the first tile, of a step beside what the tensor cores take, of a
/// tile beside its sums, of each sum where all warpgroups finish it, and where one does; of each element
/// of a tile in a step. And bytes a clock that arrive in one multiprocessor's stages where all ask for them, where
/// tiles are multiplied in turn, and of tiles of 96 columns, which B [k][n] reaches by three boxes and B [n][k] by one.
struct GemmTmaCosts {
  double start, wait, tile, finish, finishAlone, multiply, feed, feedInTurn, feedOfNarrow;
  double function = 0, functionAlone = 0; ///< what each sum takes more where a function is called
};

/// Where one warpgroup multiplies 64 rows; and of the exchange in a cluster, for a tile and for each of its sums.
inline constexpr GemmTmaCosts kTmaCostsOfFewRows = {165,    215, 815, 0.204, 0.204,
                                                    0.0274, 1e9, 1e9, 1e9};
inline constexpr double kTmaExchange = 3800, kTmaExchangeOfSum = 0.221;

/// The same where three warpgroups multiply 64 rows each in turn. Fitted to an H200's times in models (ConvNeXt-T, Swin-T,
/// EfficientNet-B0, ResNet-50 of 64, MiniLM at 32x128, CLIP, T5, BERT at 8x512: 87 products with K 16 to 4864), as multiples of
/// what the other tilings take there: what the choice then takes is on average 0.4 % more than the best, at most 6.
inline constexpr GemmTmaCosts kTmaCostsOfThreeInTurn = {1130,   144, 0,  0.268, 0.268,
                                                        0.0312, 64,  64, 53.7};
/// Of these, too. Clocks in which boxes are filled up, for each element of each row that K has too few in its last step;
/// what a block waits for each step of B that stays, and what its tiles take then, in times of others; and what is lost where
/// there are no turns to take, for the kernel behind it finds no registers to start early with.
inline constexpr double kTmaFill = 0.054, kTmaResidentStep = 84, kTmaResidentTile = 0.973,
                        kTmaLateStart = 2000;

/// The same of three warpgroups, whose sums are finished where they lie.
inline constexpr GemmTmaCosts kTmaCostsOfThree = {3255,   82, 830, 0.0768, 0.0768,
                                                  0.0342, 62, 62,  62};

/// How much longer memory takes to bring B to clusters where several tiles of rows want it: 128x4096x14336
/// takes 43 us so, by as many blocks of 64 x 64 without clusters 36.
inline constexpr double kTmaSharedWeights = 1.46;

/// How much longer memory takes to bring B where boxes of A have more rows than there are: 16x14336x4096 takes 34.4 us by 64 x
/// 128, 64x14336x4096 31.9 (by gemm_wgmma, which reads rows that exist, 30.3).
constexpr double weightsOfFewRows(int blockM, long long m) {
  return m < blockM ? 1 + 0.13 * (1 - double(m) / blockM) : 1;
}

/// What is left of the feed of tiles of 128 x 64 where the rows of tiles are no divisor of 8, so that neighbouring blocks
/// ask for columns at other times (784x768x3072 takes 19 us so, by 64 x 128 14; 1024x768x3072 15 and 16). Of tiles of 96
/// columns, where they are no multiple of 4 (CLIP's 1600x768x3072 lost 0.5 us to pairs of blocks, 2048x768x3072 gains 2).
inline constexpr double kTmaFeedOfOddRows = 0.84, kTmaFeedOfOddRowsOfNarrow = 0.86;

/// Those of 16-bit operands are fitted to an H100's times of the suite's products (m 16 to 200704, n 64 to 128256, k 48 to
/// 8192) and to an H200's (m 16 to 12608, n and k 384 to 14336), all templates together. Chains of one kernel do not show
/// all: pairs of blocks on every multiprocessor keep the next kernel out, and got 1.3 us more; three warpgroups got 3 %.
/// The tiling with the fewest clocks is on average 1.8 % slower than the best of an H100's, at most 16 %, and than that
/// of an H200's 0.7 %, at most 11 %; of the benchmark's products and MiniLM's in both layouts of B, which were measured
/// later, 2.2 % and 37 (tests/kernels/choice_test.cpp, tests/codegen/gemm_choice_test.cpp). Costs fitted to these too, in
/// which tiles in turn take as long as the slower of their way to the stages and what becomes of them there, chose within
/// 1.0 and 13 % of these, and made models 1 % slower: MiniLM, BERT, CLIP, Whisper, Qwen2. Those of bytes are
/// fitted to 80 measured cases of 16 products (m 128 to 100352, n and k 64 to 4096) beside those of gemm_wgmma: on average
/// 0.8 %, at most 7 %. Moments of rows take 0.29 clocks of each sum, but that is the same for all templates, and 0.37 of
/// one warpgroup: the difference counts.
///
/// B by boxes of 32 columns arrives slowly (2048x768x3072 by 128 x 96 takes an H200 19 us, an H100 21.5; of B [n][k] 17.8).
///
/// A function, such as SiLU, takes issue slots and special-function units, for which two warpgroups that finish a tile each
/// compete. Of a single step that is most of the time: 200704x96x16 takes an H200 34.7 us by 96 columns and 36.8 in turn,
/// 50176x144x24 16.8 by 160 columns and 19.0 in turn (EfficientNet-B0, tuned). Of more steps the others are fitted with it.
constexpr GemmTmaCosts gemmTmaCosts(bool isBytes, bool storesMoments, bool isRightAlongK,
                                    bool callsFunctionsAtOnce = false) {
  GemmTmaCosts costs = {165, 161, 555, 0.184, 0.173, 0.0322, 62, 44.4, isRightAlongK ? 45 : 39.8};
  if (isBytes)
    costs = {1350, 28, 400, 0.431, 0.408, 0.0299, 60, 60, 39.8};
  if (storesMoments)
    costs.finishAlone += 0.0684;
  if (callsFunctionsAtOnce)
    costs.function = 0.16, costs.functionAlone = 0.43;
  return costs;
}

/// Clocks of gemm_tma_tile's parts: of a tile beside its steps and of each of its sums; of a step whose part of B was asked
/// for before the kernel before had ended, the same of tiles of 32 columns, of each element of a tile in it; what a step
/// takes more that waits for its stage. Bytes a clock that arrive in one multiprocessor's stages. What blocks of a
/// cluster take to exchange sums, for each of them; and what a multiprocessor's later blocks take more than its first, whose
/// start the kernel before hides, for each sum.
struct GemmTileCosts {
  double tile, finish, step, stepOfNarrow, multiply, refill, feed, exchange, exchangeOfBlock,
      laterSum;
};

/// Fitted to models, not to chains of one kernel: plans that differ in one product's tiling alone, by turns on an H200 (BERT
/// at 32 to 512 rows, ViT, MiniLM, DistilBERT, Whisper; 220 plans). A cluster's blocks start late: as many multiprocessors
/// of one part of the GPU have to be free. Functions, such as GELU, are counted by the difference that the width of tiles
/// makes, for those of the other templates count none (MiniLM's 128x1536x384 takes 1 us more by 64 columns than by 32).
/// Where none is called narrow tiles take more than their steps: half as many blocks leave the kernels around them
/// multiprocessors of their own to start on (MiniLM with 128x1152x384 by 64 columns 0.0718 ms, by 32 0.0785; ResNet-50 of
/// one image, ten of whose products have 64 columns, 0.159, 32 0.162). Clusters of two lose least (ViT's 197x768x3072).
constexpr GemmTileCosts gemmTileCosts(bool callsFunctions) {
  GemmTileCosts costs = {2000, 0.09, 137, 194, 0.0115, 133, 52, 2600, 300, 0.5};
  if (callsFunctions) {
    costs.stepOfNarrow = 179;
    costs.tile -= 500;
    costs.finish += 0.25;
  }
  return costs;
}

/// The same for one tile a block.
constexpr double estimatedTileClocks(const GemmTmaTiling &t, int multiprocessors, long long m,
                                     long long n, long long kBytes, long long batches,
                                     const GemmTileCosts &costs) {
  double area = double(t.blockM) * t.blockN;
  long long tilesM = (m + t.blockM - 1) / t.blockM,
            blocks = tilesM * ((n + t.blockN - 1) / t.blockN) * batches * t.clusterK;
  long long rounds = (blocks + multiprocessors - 1) / multiprocessors,
            allSteps = (kBytes + kWgmmaStepBytes - 1) / kWgmmaStepBytes,
            steps = (allSteps + t.clusterK - 1) / t.clusterK,
            early = steps < t.stages ? steps : t.stages;
  double step = (t.blockN == 32 ? costs.stepOfNarrow : costs.step) + costs.multiply * area,
         late = step + costs.refill, feed = t.stageBytes() / costs.feed;
  double end = costs.tile + costs.finish * area +
               (t.clusterK == 1 ? 0 : costs.exchange + costs.exchangeOfBlock * t.clusterK);
  double block = double(early) * step + double(steps - early) * (late > feed ? late : feed) + end;
  // A later round's first steps wait for memory; and steps end in turn: 128x4096x14336 takes 46.7 us by one tile of 64 x 64 a
  // block, by as many in turn 38.6.
  constexpr double kInRounds = 1.07, kStepsInTurn = 1.15;
  double clocks = double(rounds) * block + double(rounds - 1) * costs.laterSum * area,
         weights = clocksOfWeights(n, kBytes, batches) * weightsOfFewRows(t.blockM, m) *
                   weightsOfClusters(t.clusterK, double(blocks), multiprocessors) *
                   (rounds > 1 && t.clusterK == 1 ? kInRounds : 1),
         least = weights * (t.clusterK > 1 && tilesM > 1 ? kTmaSharedWeights : 1) + end -
                 costs.tile / 2, // of which half comes before the first step
      copies = clocksOfCopies(double(blocks), double(steps), t.stageBytes()) * kStepsInTurn;
  clocks = streamsWeights(m, allSteps) && copies > clocks ? copies : clocks;
  return clocks > least ? clocks : least;
}

/// The blocks that take tiles in turn so that each has columns of its own, of which there are `tilesN` tiles: the most that
/// multiprocessors hold at once, but one for each tile of columns.
constexpr long long wholeColumns(long long multiprocessors, long long tilesN) {
  return multiprocessors < tilesN ? tilesN : multiprocessors - multiprocessors % tilesN;
}

/// Of all `rounds` of tiles but the last, each of `period` clocks if copies take less: `feed` a step.
constexpr double clocksOfThreeInTurn(const GemmTmaTiling &t, long long rounds, long long steps,
                                     long long kBytes, double period, double feed) {
  double filled = kTmaFill * double(steps * kWgmmaStepBytes - kBytes) / 2 * t.stageBytes() /
                  kWgmmaStepBytes,
         copied = double(steps) * feed + filled;
  double tile = period > copied ? period : copied, start = rounds == 1 ? kTmaLateStart : 0;
  if (t.residentSteps > 0)
    tile *= kTmaResidentTile, start += kTmaResidentStep * double(steps);
  return double(rounds - 1) * tile + start;
}

/// The same for tensor maps. While a tile is finished the next tile's operands arrive, and in ping-pong
/// the next tile is multiplied. Blocks take tiles in turn until none is left.
constexpr double estimatedClocks(const GemmTmaTiling &t, int multiprocessors, long long m,
                                 long long n, long long kBytes, long long batches = 1,
                                 const GemmTmaCosts &costsOfTwo = gemmTmaCosts(false, false, false),
                                 const GemmTileCosts &costsOfOneTile = gemmTileCosts(false)) {
  if (t.oneTile)
    return estimatedTileClocks(t, multiprocessors, m, n, kBytes, batches, costsOfOneTile);
  const GemmTmaCosts &costs = t.teams() > 2     ? kTmaCostsOfThreeInTurn
                              : t.blockM == 64  ? kTmaCostsOfFewRows
                              : t.blockM == 192 ? kTmaCostsOfThree
                                                : costsOfTwo;
  double area = double(t.blockM) * t.blockN;
  long long tilesM = (m + t.blockM - 1) / t.blockM, tilesN = (n + t.blockN - 1) / t.blockN;
  long long blocks = tilesM * tilesN * batches * t.clusterK;
  long long atOnce = t.residentSteps > 0 ? wholeColumns(multiprocessors, tilesN) : multiprocessors;
  long long rounds = (blocks + atOnce - 1) / atOnce,
            allSteps = (kBytes + kWgmmaStepBytes - 1) / kWgmmaStepBytes,
            steps = (allSteps + t.clusterK - 1) / t.clusterK;
  double bytesOfClock = panelColumns(t.blockN) < 64 ? costs.feedOfNarrow
                        : t.pingPong                ? costs.feedInTurn
                                                    : costs.feed;
  if (t.blockM == 128 && t.blockN == 64 && (tilesM > 8 || (tilesM & (tilesM - 1)) != 0))
    bytesOfClock *= kTmaFeedOfOddRows;
  if (t.blockM == 128 && t.blockN == 96 && tilesM % 4 != 0)
    bytesOfClock *= kTmaFeedOfOddRowsOfNarrow;
  double step = costs.wait + costs.multiply * area, feed = t.stageBytes() / bytesOfClock;
  double multiply = double(steps) * (step > feed ? step : feed);
  double finish = t.teams() > 2 ? costs.finishAlone
                  : t.pingPong  ? costs.finishAlone + costsOfTwo.functionAlone
                                : costs.finish + costsOfTwo.function;
  double end = costs.tile + finish * area / t.clusterK +
               (t.clusterK > 1 ? kTmaExchange + kTmaExchangeOfSum * area : 0);
  double turn = (multiply + end) / t.teams(),
         period = t.teams() == 1 || turn > multiply ? turn : multiply;
  double clocks = double(rounds - 1) * period + multiply + end;
  if (t.teams() > 2)
    clocks = clocksOfThreeInTurn(t, rounds, steps, kBytes, period, feed) + multiply + end;
  double weights = clocksOfWeights(n, kBytes, batches) * weightsOfFewRows(t.blockM, m) *
                   weightsOfClusters(t.clusterK, double(blocks), multiprocessors),
         least = weights * (t.clusterK > 1 && tilesM > 1 ? kTmaSharedWeights : 1) + end,
         copies = clocksOfCopies(double(blocks), double(steps), t.stageBytes());
  clocks = streamsWeights(m, allSteps) && copies > clocks ? copies : clocks;
  return costs.start + (clocks > least ? clocks : least);
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
