// What the tilings of gemm_wgmma cost.
#pragma once

#include "codegen/kernels/gemm/gemm_costs.h"

namespace smelt {

/// Clocks of gemm_wgmma's parts: of a step beside what the tensor cores take, the same of tiles of 32 columns, of each
/// element of a tile in a step; of a tile beside its sums, of each sum; of a cluster's exchange, and for each of its blocks.
struct GemmWgmmaCosts {
  double wait, waitNarrow, multiply, tile, finish, exchange, exchangeOfBlock;
  double feed;        ///< bytes a clock that arrive in one multiprocessor's stages
  double secondBlock; ///< what two blocks of one multiprocessor take, in times of one
  double together;    ///< share of the time in which they hide each other's waiting
  GemmCopyRates copies = {};
};

/// Those of 16-bit operands are fitted with gemmMapCosts(). A step of bytes holds twice as many elements at twice the rate;
/// of integers fitted to 30 products, beside 198 measured cases of halves (m 128 to 12608, n and k 384 to 4096).
constexpr GemmWgmmaCosts gemmWgmmaCosts(WgmmaOperands operands, bool callsFunctionsAtOnce = false,
                                        bool isPlain = false) {
  if (operands == WgmmaOperands::integers)
    return {225, 275, 0.037, 880, 0.45, 1040, 276, 1e9, 1.37, 0};
  if (operands == WgmmaOperands::floats8)
    return {296, 296, 0.0439, 500, 0.31, 278, 577, 1e9, 1.7, 0};
  GemmWgmmaCosts costs = {213, 307, 0.031, 1005, 0.188, 1300, 276, 36.7, 1.34, 0.223};
  if (isPlain)
    costs.copies = {kRowsOfCopies, 0, 0, 1660};
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
                                 GemmWgmmaCosts costs = gemmWgmmaCosts(WgmmaOperands::halves)) {
  // Blocks of clusters get their parts of large weights later than others, most of all where not all clusters run at once
  // (32x2048x2048 takes 7.8 us by clusters of four, by mma 6.2).
  constexpr long long kLargeWeights = 6ll << 20;
  constexpr double kOfLargeWeights = 2200;
  bool isLarge = n * kBytes >= kLargeWeights;
  double area = double(t.blockM) * t.blockN, wait = t.blockN == 32 ? costs.waitNarrow : costs.wait;
  if (t.stages <= 3) {
    wait = 400;
    costs.secondBlock = 1.8;
    costs.finish *= 0.82;
  }
  long long tilesOfRows = (m + t.blockM - 1) / t.blockM,
            tilesOfColumns = (n + t.blockN - 1) / t.blockN;
  double blocks = double(tilesOfRows) * double(tilesOfColumns) * t.clusterK * double(batches);
  long long allSteps = (kBytes + kWgmmaStepBytes - 1) / kWgmmaStepBytes,
            steps = (allSteps + t.clusterK - 1) / t.clusterK;
  // Rows that a tile has too many are not read: at 197 rows 128 x 64 is 9 % faster than at 256.
  double rows = double(m) / double(m > 0 ? tilesOfRows : 1);
  double step = wait + costs.multiply * area,
         feed = (rows + t.blockN) * kWgmmaStepBytes / costs.feed;
  // Rows that do not exist are not finished either, which counts in wide tiles (1x28672x4096 58 us, 128x28672x4096 63).
  bool isWide = t.blockN == 256 && allSteps >= kManySteps;
  double end = costs.tile + costs.finish * (isWide ? rows * t.blockN : area) +
               (t.clusterK == 1 ? 0
                                : costs.exchange + costs.exchangeOfBlock * t.clusterK +
                                      (isLarge ? kOfLargeWeights : 0));
  double block = double(steps) * (step > feed ? step : feed) + end;
  bool leavesSome = t.clusterK >= 4 &&
                    (t.minBlocks() == 1 || (isLarge && blocks > kFilledByFours * multiprocessors));
  double waves = blocks / (multiprocessors * (leavesSome ? kFilledByFours : 1));
  waves = t.minBlocks() > 1 ? wavesOfPairs(waves, costs) : double((long long)(waves + 1 - 1e-9));
  // Copies of 16 bytes by threads keep memory less busy than boxes where blocks are few.
  constexpr double kByFewBlocks = 1.09;
  bool streams = streamsWeights(m, allSteps);
  double onTheirWay = double(t.minBlocks() * t.stages) * t.blockN * kWgmmaStepBytes;
  double clocks = (waves < 1 ? 1 : waves) * block,
         least = clocksOfWeights(n, kBytes, batches) *
                     (t.clusterK > 1 && streams ? kByFewBlocks : 1) *
                     weightsOfClusters(t.clusterK, blocks, multiprocessors) *
                     weightsInWaves(blocks / (multiprocessors * t.minBlocks()), onTheirWay) +
                 end,
         copied = blocks * double(steps) * (rows + t.blockN) * kWgmmaStepBytes, copies = 0;
  if (t.clusterK > 1 && costs.copies.holdFor(m, allSteps))
    copies = copied / costs.copies.clusters + end;
  else if (streams)
    copies = copied / kCopiesOfClock;
  clocks = copies > clocks ? copies : clocks;
  return clocks > least ? clocks : least;
}

} // namespace smelt
