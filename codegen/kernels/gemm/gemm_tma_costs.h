// What the tilings of gemm_tma and gemm_tma_tile cost.
#pragma once

#include "codegen/kernels/gemm/gemm_costs.h"

namespace smelt {

/// Clocks of gemm_tma's parts: before the first tile, of a step beside what the tensor cores take, of a
/// tile beside its sums, of each sum where all warpgroups finish it, and where one does; of each element
/// of a tile in a step. And bytes a clock that arrive in one multiprocessor's stages where all ask for them, where
/// tiles are multiplied in turn, and of tiles of 96 columns, which B [k][n] reaches by three boxes and B [n][k] by one.
struct GemmTmaCosts {
  double start, wait, tile, finish, finishAlone, multiply, feed, feedInTurn, feedOfNarrow;
  double feedOfFarRows = 1e9;             ///< of up to 128 columns of B [k][n], kTmaFarColumns
  double function = 0, functionAlone = 0; ///< what each sum takes more where a function is called
};

/// Where one warpgroup multiplies 64 rows; and of the exchange in a cluster of two and of four, for a tile and for each of its
/// sums.
inline constexpr GemmTmaCosts kTmaCostsOfFewRows = {165,    215, 815, 0.204, 0.204,
                                                    0.0274, 1e9, 1e9, 1e9};
inline constexpr double kTmaExchange = 3800, kTmaExchangeOfSum = 0.221, kTmaExchangeOfFour = 2940,
                        kTmaExchangeOfFoursSum = 0.315;

/// Of three warpgroups in turn: clocks in which boxes are filled up, for each element of each row that K has too few in its last
/// step; what a block waits for each step of B that stays, and what its tiles take then, in times of others; and what is lost
/// where there are no turns to take, for the kernel behind it finds no registers to start early with.
inline constexpr double kTmaFill = 0.054, kTmaResidentStep = 84, kTmaResidentTile = 0.973,
                        kTmaLateStart = 2000;

/// From so many columns on the rows of B [k][n] lie far apart: the rows of a box are in as many pages of memory
/// (2048x32000x896 takes 197 us by ping-pong, and by 192 x 192, whose columns of a row are half as many pieces again, 176).
inline constexpr long long kTmaFarColumns = 16384;

/// How much longer memory takes to bring B to clusters where several tiles of rows want it: 128x4096x14336
/// takes 43 us so, by as many blocks of 64 x 64 without clusters 36.
inline constexpr double kTmaSharedWeights = 1.46;

/// How much longer memory takes to bring B [k][n] of so many columns to tiles of 64 rows that take turns, where two of them want it.
inline constexpr double kTmaFarWeightsTwice = 1.2;

/// Clocks in which the GPU fills up what boxes of A have too many rows of, where a tile is all there are (gemm_tma.cuh): 1x4096x14336
/// takes 55 us by one tile of 64 x 64 a block, 64x4096x14336 36.
constexpr double clocksOfMissingRows(const GemmTmaTiling &t, double blocks, long long steps,
                                     long long m) {
  constexpr double kRowsOfClock = 27;
  return m < t.blockM ? blocks * double(steps) * double(t.blockM - m) / kRowsOfClock : 0;
}

/// How much longer memory takes to bring B [k][n] of so many columns that the rows of a box lie in as many pages (kTmaFarColumns).
constexpr double weightsOfFarRows(long long n) { return n >= kTmaFarColumns ? 1.12 : 1; }

/// What is left of the feed of tiles of 128 x 64 where the rows of tiles are no divisor of 8, so that neighbouring blocks
/// ask for columns at other times (784x768x3072 takes 19 us so, by 64 x 128 14; 1024x768x3072 15 and 16). Of tiles of 96
/// columns, where they are no multiple of 4 (CLIP's 1600x768x3072 lost 0.5 us to pairs of blocks, 2048x768x3072 gains 2).
inline constexpr double kTmaFeedOfOddRows = 0.84, kTmaFeedOfOddRowsOfNarrow = 0.86;

/// What the costs of a product depend on beside its operands and sizes (GemmShape).
struct GemmEnds {
  bool storesMoments = false, isRightAlongK = true, isInFragments = false;
  bool callsFunctions = false;
  bool callsFunctionsAtOnce = false; ///< after a single step
  bool readsRows = false;            ///< statistics, or inputs
  bool isPlain = false;              ///< sums are biased and rounded, rows those of a matrix
};

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

/// Those of gemm_tma and gemm_tma_tile: of one warpgroup for every 64 rows of a tile, or two that take turns (`two`); of three that
/// take turns with tiles of 64 rows, or, of floats of 8 bits, run freely; of three with one tile, finished where the sums lie; of
/// one tile a block; of one warpgroup with 64 rows, with 128 columns and a very long K, and with more columns.
struct GemmMapCosts {
  GemmTmaCosts two, inTurn, three;
  GemmTileCosts tile;
  double laterOfThree = 1; ///< what later rounds of three warpgroups take, in times of the first
  GemmTmaCosts few = kTmaCostsOfFewRows, fewOfVeryLongK = kTmaCostsOfFewRows,
               wide = kTmaCostsOfFewRows;
  /// Of `wide` by boxes of 32 columns with a long K: of less than twelve tiles of rows, and of several tiles a block, which drift
  /// apart (3152x2048x8192 by 64 x 160 takes 306 us, by 128 x 256 206).
  double feedOfFewTiles = 1e9, feedInRounds = 1e9;
  GemmCopyRates copies = {};

  constexpr const GemmTmaCosts &of(const GemmTmaTiling &t, long long rows, long long steps) const {
    if (t.teams() > 2)
      return inTurn;
    if (t.blockM == 64)
      return t.blockN > 128                                                 ? wide
             : t.blockN > 64 && rows >= kLeastOddRows && isVeryLongK(steps) ? fewOfVeryLongK
                                                                            : few;
    return t.blockM == 192 ? three : two;
  }
};

/// Those of 16-bit operands are fitted to an H100's times of the suite's products (m 16 to 200704, n 64 to 128256, k 48 to
/// 8192) and to an H200's (m 16 to 12608, n and k 384 to 14336), all templates together. Chains of one kernel do not show
/// all: pairs of blocks on every multiprocessor keep the next kernel out, and got 1.3 us more; three warpgroups got 3 %.
/// The tiling with the fewest clocks is on average 1.8 % slower than the best of an H100's, at most 16 %, and than that
/// of an H200's 0.7 %, at most 11 %; of the benchmark's products and MiniLM's in both layouts of B, which were measured
/// later, 2.2 % and 37 (tests/kernels/choice_test.cpp, tests/codegen/gemm_choice_test.cpp); of the benchmark's of many rows on an
/// H200, with later rounds of tiles of 192 x 192 counted (before, 2.5 and 15), 1.0 and 5. Costs fitted to these too chose within
/// 0.4 % of them, and within 0.5 and 1.2 of those of models and with GELU and a residual; eight of nine models took as long as
/// before or 1 % longer (MiniLM, Swin-T, ConvNeXt-T, Llama at 512; by turns): large products run at the limit of the GPU's power,
/// and small ones overlap. So had others before them, for tiles in turn.
/// `inTurn`: fitted to an H200's times in models (ConvNeXt-T, Swin-T, EfficientNet-B0, ResNet-50 of 64, MiniLM at 32x128, CLIP,
/// T5, BERT at 8x512: 87 products with K 16 to 4864), as multiples of what the other tilings take there: what the choice then
/// takes is on average 0.4 % more than the best, at most 6.
/// Later rounds of tiles of 192 x 192: 12608x2304x768 takes 81 us by them, by ping-pong 74, and 16384x4096x4096 917, by 128 x 256
/// 875 and by ping-pong 852; with statistics of rows to apply, ping-pong takes as long as they (ViT's 12608x2304x768 83 us).
/// B by boxes of 32 columns arrives slowly (2048x768x3072 by 128 x 96 takes an H200 19 us, an H100 21.5; of B [n][k] 17.8).
/// Of plain products `fewOfVeryLongK` and `wide`, clusters of four, and rates of copies: fitted to an H200's times of 54 products of
/// 77 to 3152 rows (n and k 1024 to 11008): on average 3.2 % more than the best, at most 17; before 6.4 and 34, and without these
/// tilings the best took 3.8 % more (tests/kernels/h200_gemm_odd_rows.txt).
constexpr GemmMapCosts gemmMapCostsOfHalves(const GemmEnds &ends) {
  double narrow = ends.isRightAlongK ? 45 : 39.8, far = ends.isRightAlongK ? 1e9 : 40,
         later = ends.readsRows ? 1 : 1.13;
  GemmMapCosts costs = {{165, 161, 555, 0.184, 0.173, 0.0322, 62, 44.4, narrow, far},
                        {1130, 144, 0, 0.268, 0.268, 0.0312, 64, 64, 53.7, far},
                        {3255, 82, 830, 0.0768, 0.0768, 0.0342, 62, 62, 62},
                        gemmTileCosts(ends.callsFunctions),
                        later};
  if (!ends.isPlain)
    return costs;
  bool hasNarrowBoxes = !ends.isRightAlongK;
  costs.fewOfVeryLongK = {165, 126.5, 815, 0.204, 0.204, 0.0269, 1e9, 1e9, 1e9};
  costs.wide = {373, 234, 1229, 0.137, 0.137, 0.0235, 101, 101, hasNarrowBoxes ? 60.0 : 101.0};
  costs.feedOfFewTiles = hasNarrowBoxes ? 48.9 : 101;
  costs.feedInRounds = hasNarrowBoxes ? 32 : 101;
  costs.copies = {kRowsOfCopies, 5130, 7300, 3320};
  return costs;
}

/// Of integers: fitted to 35 products of many rows (m 512 to 100352, n and k 64 to 14336), of which 21 are finished where the
/// sums lie: on average 0.2 %, at most 3. (With bytes rounded in pairs, measured later, 1.3 and 10.)
constexpr GemmMapCosts gemmMapCostsOfIntegers(const GemmEnds &ends) {
  GemmMapCosts costs = {{1144, 21.6, 357, 0.393, 0.361, 0.0321, 76, 55.8, 325},
                        {2645, 230, 0, 0.206, 0.206, 0.0244, 54.7, 54.7, 53.4},
                        {435, 62, 1661, 0.125, 0.125, 0.0399, 43.3, 43.3, 43.3},
                        gemmTileCosts(ends.callsFunctions)};
  if (!ends.isInFragments) {
    costs.two.finish += 0.05, costs.two.finishAlone += 0.043;
    costs.inTurn.finish = costs.inTurn.finishAlone += 0.145;
  }
  return costs;
}

/// Of floats of 8 bits: fitted, beside gemm_wgmma's, to 70 products (m 1 to 16384, n and k 768 to 14336; of 2048 rows and more
/// with the sums of two steps added at a time), on average 0.8 %, at most 8, and of those 21 0.1 and 2 %.
constexpr GemmMapCosts gemmMapCostsOfFloats8(const GemmEnds &ends) {
  GemmTmaCosts two = {0, 17, 120, 0.218, 0.218, 0.0398, 56.2, 56.2, 54.1},
               free = {6000, 464, 82, 0.139, 0.139, 0.0162, 75, 75, 75};
  return {two, free, two, gemmTileCosts(ends.callsFunctions)};
}

/// Moments of rows take 0.29 clocks of each sum, but that is the same for all templates, and 0.37 of one warpgroup: the
/// difference counts.
///
/// A function, such as SiLU, takes issue slots and special-function units, for which two warpgroups that finish a tile each
/// compete. Of a single step that is most of the time: 200704x96x16 takes an H200 34.7 us by 96 columns and 36.8 in turn,
/// 50176x144x24 16.8 by 160 columns and 19.0 in turn (EfficientNet-B0, tuned). Of more steps the others are fitted with it.
constexpr GemmMapCosts gemmMapCosts(WgmmaOperands operands, const GemmEnds &ends = {}) {
  GemmMapCosts costs = operands == WgmmaOperands::integers  ? gemmMapCostsOfIntegers(ends)
                       : operands == WgmmaOperands::floats8 ? gemmMapCostsOfFloats8(ends)
                                                            : gemmMapCostsOfHalves(ends);
  if (ends.storesMoments)
    costs.two.finishAlone += 0.0684;
  if (ends.callsFunctionsAtOnce)
    costs.two.function = 0.16, costs.two.functionAlone = 0.43;
  return costs;
}

/// Clocks that Hopper takes for C (m x n) by gemm_tma_tile, with `kBytes` bytes along K.
constexpr double estimatedTileClocks(const GemmTmaTiling &t, int multiprocessors, long long m,
                                     long long n, long long kBytes, long long batches,
                                     const GemmTileCosts &costs, const GemmCopyRates &rates) {
  double area = double(t.blockM) * t.blockN;
  long long tilesM = (m + t.blockM - 1) / t.blockM,
            blocks = tilesM * ((n + t.blockN - 1) / t.blockN) * batches * t.clusterK;
  long long atOnce =
      t.clusterK < 4 ? multiprocessors : (long long)(kFilledByFours * multiprocessors);
  long long rounds = (blocks + atOnce - 1) / atOnce,
            allSteps = (kBytes + kWgmmaStepBytes - 1) / kWgmmaStepBytes,
            steps = (allSteps + t.clusterK - 1) / t.clusterK,
            early = steps < t.stages ? steps : t.stages;
  double step = (t.blockN == 32 ? costs.stepOfNarrow : costs.step) + costs.multiply * area,
         late = step + costs.refill, feed = t.stageBytes() / costs.feed;
  double end = costs.tile + costs.finish * area +
               (t.clusterK == 1 ? 0 : costs.exchange + costs.exchangeOfBlock * t.clusterK);
  double block = double(early) * step + double(steps - early) * (late > feed ? late : feed) + end;
  // A later round's first steps wait for memory; and steps end in turn: 128x4096x14336 takes 46.7 us by one tile of 64 x 64 a
  // block, by as many in turn 38.6 (with a residual, which one tile asks for early, 37.6 and 37.7).
  constexpr double kInRounds = 1.07, kStepsInTurn = 1.03;
  double clocks = double(rounds) * block + double(rounds - 1) * costs.laterSum * area,
         weights = clocksOfWeights(n, kBytes, batches) * weightsOfFarRows(n) *
                   weightsInWaves(double(rounds), double(t.stages) * t.blockN * kWgmmaStepBytes) *
                   weightsOfClusters(t.clusterK, double(blocks), multiprocessors) *
                   (rounds > 1 && t.clusterK == 1 ? kInRounds : 1),
         least = weights * (t.clusterK > 1 && tilesM > 1 ? kTmaSharedWeights : 1) + end -
                 costs.tile / 2, // of which half comes before the first step
      copied = double(blocks) * double(steps) * t.stageBytes(), copies = 0;
  if (t.clusterK > 1 && rates.holdFor(m, allSteps))
    copies = copied / rates.clusters + end;
  else if (rates.holdFor(m, allSteps) || streamsWeights(m, allSteps))
    copies = copied / kCopiesOfClock * kStepsInTurn;
  clocks = copies > clocks ? copies : clocks;
  return (clocks > least ? clocks : least) + clocksOfMissingRows(t, double(blocks), steps, m);
}

/// Such bytes a clock of several tiles of rows by clusters.
inline constexpr double kCopiesOfClusters = 4400;

/// In which L2 brings what blocks copy in all, and they end; 0 where that is not what takes time.
constexpr double clocksOfCopies(const GemmTmaTiling &t, double copied, double end, long long m,
                                long long steps, const GemmCopyRates &rates) {
  bool isCounted = rates.holdFor(m, steps);
  if (isCounted && t.clusterK > 1)
    return copied / rates.clusters + end;
  if (isCounted && isVeryLongK(steps) && t.blockM == 64 && t.teams() == 1)
    return copied / (t.blockN > 64 ? rates.wide : rates.narrow) + end;
  if (!streamsWeights(m, steps))
    return 0;
  return t.clusterK > 1 && m > t.blockM ? copied / kCopiesOfClusters + end
                                        : copied / kCopiesOfClock;
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
  long long first = t.runsFreely() ? t.teams() : 1; // tiles that begin at once
  return double(rounds > first ? rounds - first : 0) * tile + start;
}

/// The same by gemm_tma. While a tile is finished the next tile's operands arrive, and in ping-pong
/// the next tile is multiplied. Blocks take tiles in turn until none is left.
constexpr double estimatedClocks(const GemmTmaTiling &t, int multiprocessors, long long m,
                                 long long n, long long kBytes, long long batches,
                                 const GemmMapCosts &allCosts) {
  if (t.oneTile)
    return estimatedTileClocks(t, multiprocessors, m, n, kBytes, batches, allCosts.tile,
                               allCosts.copies);
  const GemmTmaCosts &costs = allCosts.of(t, m, (kBytes + kWgmmaStepBytes - 1) / kWgmmaStepBytes);
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
  if (t.blockM == 64 && t.blockN > 128 && panelColumns(t.blockN) < 64 && isLongK(allSteps)) {
    if (rounds > 1)
      bytesOfClock = allCosts.feedInRounds;
    else if (tilesM < 12)
      bytesOfClock = allCosts.feedOfFewTiles;
  }
  if (n >= kTmaFarColumns && t.blockN <= 128 && costs.feedOfFarRows < bytesOfClock)
    bytesOfClock = costs.feedOfFarRows;
  if (t.blockM == 128 && t.blockN == 64 && (tilesM > 8 || (tilesM & (tilesM - 1)) != 0))
    bytesOfClock *= kTmaFeedOfOddRows;
  if (t.blockM == 128 && t.blockN == 96 && tilesM % 4 != 0)
    bytesOfClock *= kTmaFeedOfOddRowsOfNarrow;
  double step = costs.wait + costs.multiply * area, feed = t.stageBytes() / bytesOfClock;
  double multiply = double(steps) * (step > feed ? step : feed);
  double finish = t.teams() > 2 ? costs.finishAlone
                  : t.pingPong  ? costs.finishAlone + allCosts.two.functionAlone
                                : costs.finish + allCosts.two.function;
  double end = costs.tile + finish * area / t.clusterK +
               (t.clusterK > 2   ? kTmaExchangeOfFour + kTmaExchangeOfFoursSum * area
                : t.clusterK > 1 ? kTmaExchange + kTmaExchangeOfSum * area
                                 : 0);
  double turn = (multiply + end) / t.teams(),
         period = t.teams() == 1 || turn > multiply ? turn : multiply;
  double later = t.blockM == 192 ? allCosts.laterOfThree : 1;
  double clocks = double(rounds - 1) * later * period + multiply + end;
  if (t.teams() > 2)
    clocks = clocksOfThreeInTurn(t, rounds, steps, kBytes, period, feed) + multiply + end;
  double weights = clocksOfWeights(n, kBytes, batches) * weightsOfFarRows(n) *
                   weightsOfClusters(t.clusterK, double(blocks), multiprocessors),
         least = weights + end;
  if (tilesM > 1 && t.clusterK > 1)
    least += weights * (kTmaSharedWeights - 1);
  else if (tilesM > 1 && rounds > 1 && t.blockM == 64 && n >= kTmaFarColumns &&
           allSteps >= kManySteps)
    least += weights * (kTmaFarWeightsTwice - 1);
  double copies = clocksOfCopies(t, double(blocks) * double(steps) * t.stageBytes(), end, m,
                                 allSteps, allCosts.copies);
  clocks = copies > clocks ? copies : clocks;
  return costs.start + (clocks > least ? clocks : least) +
         clocksOfMissingRows(t, double(blocks), steps, m);
}

} // namespace smelt
