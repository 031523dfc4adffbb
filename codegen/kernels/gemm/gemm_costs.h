// What the costs of both templates for wgmma have in common (gemm_wgmma_costs.h, gemm_tma_costs.h): models of their times, fitted to
// measurements, that selection chooses by.
//
// Method: a block passes steps of 128 bytes along K, each as long as the slower of its operands' way to shared memory and
// its arithmetic, then finishes its sums; blocks take rounds on the multiprocessors. All in clocks of an H200 at 1.84 GHz.
// Which templates win where: gemm_config.cuh. Measurements: tests/kernels/h100_*.txt and h200_*.txt, whose tests say how
// far the choices are from the best.
#pragma once

#include "codegen/kernels/gemm/gemm_config.cuh"

namespace smelt {

/// What wgmma multiplies: two floats of 16 bits, two integers of 8, or two floats of 8.
enum class WgmmaOperands { halves, integers, floats8 };

/// Clocks in which an H200's memory brings B once: no tiling of few rows takes fewer.
constexpr double clocksOfWeights(long long n, long long kBytes, long long batches) {
  constexpr double kBytesOfClock = 2174; // 4.0 TB/s at 1.84 GHz
  return double(n) * double(kBytes) * double(batches) / kBytesOfClock;
}

constexpr bool isLongK(long long steps) { return steps >= 64; }
/// Of K, with which the end of a tile counts little.
inline constexpr long long kManySteps = 32;
/// So long that blocks which read the same drift apart.
constexpr bool isVeryLongK(long long steps) { return steps > 64; }

/// Few rows and a long K, in steps: memory brings B for most of the time.
constexpr bool streamsWeights(long long rows, long long steps) {
  return rows <= 256 && isLongK(steps);
}

/// Bytes that an H200's L2 brings in a clock to all blocks of such a product, B among them once for each tile of rows:
/// 128x14336x4096 takes 38 us by 64 x 128 in turn, by 128 x 128 34.5. (The costs of others are fitted with it.)
inline constexpr double kCopiesOfClock = 6000;

/// Fewer are one tile of rows, of which nothing for odd rows was measured: 16x4096x4096 is fastest by clusters of two.
inline constexpr long long kLeastOddRows = 65;

/// Such bytes a clock of up to `rows` rows, where blocks copy little at a time (of 64 rows and 64 columns, of 64 and more); and of clusters
/// that share K, whose blocks read nothing alike, so that nothing comes once for neighbours (197x2048x8192 takes 31 us by 128
/// blocks of 64 x 128 in clusters of two, by 64 without 24). Up to `kStepsOfCopies` of K, as measured: 128x4096x14336 takes 46.6 us
/// by 64 x 128, which these rates chose, and 41 by 64 x 64.
inline constexpr long long kRowsOfCopies = 640, kStepsOfCopies = 172;
struct GemmCopyRates {
  long long rows = 0;
  double narrow = kCopiesOfClock, wide = kCopiesOfClock, clusters = kCopiesOfClock;

  constexpr bool holdFor(long long m, long long steps) const {
    return m >= kLeastOddRows && m <= rows && isLongK(steps) && steps <= kStepsOfCopies;
  }
};

/// Multiprocessors that blocks of clusters of four find in one part of the GPU each: 64x2048x8192, of 128 blocks, takes 18.5 us by
/// tensor maps, by clusters of two 14.3.
inline constexpr double kFilledByFours = 0.73;

/// How much longer memory takes to bring B to blocks that come in `waves`, the fewer bytes of it are on their way to each
/// multiprocessor while one ends and the next begins: 64x28672x4096 takes 60 us by 128 x 256, 65 by 64 x 128 in five stages,
/// 128x32064x2048 40 and by 128 x 128 43 (H200).
constexpr double weightsInWaves(double waves, double bytesOnTheirWay) {
  constexpr double kEnough = 112 << 10, kLoss = 0.45;
  return waves > 1 && bytesOnTheirWay < kEnough ? 1 + kLoss * (1 - bytesOnTheirWay / kEnough) : 1;
}

/// How much longer memory takes to bring B once where clusters of blocks that share K are more than fit the GPU at once, so
/// that they ask for parts of it that lie apart; `blocks` are those of all clusters.
constexpr double weightsOfClusters(int clusterK, double blocks, int multiprocessors) {
  constexpr double kApart = 1.35;
  return clusterK > 1 && blocks > multiprocessors ? kApart : 1;
}

} // namespace smelt
