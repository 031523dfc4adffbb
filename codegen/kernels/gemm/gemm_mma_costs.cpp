#include "codegen/kernels/gemm/gemm_mma_costs.h"

#include <algorithm>
#include <cmath>

namespace smelt::codegen {

namespace {

// Microseconds, and bytes or FLOPs a microsecond.
constexpr double kStart = 0.9;
constexpr double kMemory = 4.0e6; // of weights, which are read once
constexpr double kMemoryInWaves =
    3.45e6; // by more blocks than run at once: 1x32064x2048 takes 39.7 us, by wgmma 33.9
// Of weights that no cache holds: steps of 64 wait as often as those of 128, and clusters read them once for each tile of rows.
constexpr double kCached = 24 << 20, kOfShortSteps = 1.17, kOfClustersInTurn = 1.6;
constexpr double kClockPerMicrosecond = 1700;

/// Of the templates without wgmma.
struct MmaCosts {
  double barrier, finishPerElement;
  double blockFeed, multiprocessorFeed;
  double sharedFeed;   ///< of a multiprocessor while all take in
  double exchanges[4]; ///< of sums between 1, 2, 4 and 8 blocks of a cluster
  double exchange(int clusterK) const {
    return exchanges[clusterK == 1 ? 0 : clusterK == 2 ? 1 : clusterK == 4 ? 2 : 3];
  }
};
constexpr MmaCosts kMmaCosts = {0.02, 0.01, 75e3, 100e3, 53e3, {0, 0.7, 1.6, 2.8}};
constexpr MmaCosts kMmaCostsOfHalves = {0.05, 0.0133, 77e3, 104e3, 69e3, {0, 0.7, 1.5, 2.6}};

constexpr int kMaxResident = 3;

} // namespace

double mmaMicroseconds(const GemmChoice &c, const GemmShape &shape, GemmPrecision precision,
                       const Target &target, int64_t rows, int elementBytes, double flopsPerClock) {
  int multiprocessors = target.part.multiprocessors;
  const MmaCosts &costs = precision == GemmPrecision::halfWidth ? kMmaCostsOfHalves : kMmaCosts;
  double tiles =
      std::ceil(double(rows) / c.blockM) * std::ceil(double(shape.n) / c.blockN) * shape.batches;
  double blocks = tiles * c.clusterK;
  int resident = std::clamp(
      std::min(target.limits.sharedBytesPerBlock / (c.sharedBytes + Target::kReservedSharedBytes),
               target.limits.threadsPerMultiprocessor / c.threads),
      1, kMaxResident);
  double atOnce = std::min<double>(blocks, multiprocessors * resident);
  double together = std::ceil(atOnce / multiprocessors);
  double feed = std::min({costs.blockFeed, costs.multiprocessorFeed / together,
                          costs.sharedFeed * multiprocessors / atOnce});
  double bytes = double(c.blockM + c.blockN) * c.blockK * elementBytes;
  double arithmetic =
      2.0 * c.blockM * c.blockN * c.blockK * together / (flopsPerClock * kClockPerMicrosecond);
  double steps = std::ceil(std::ceil(double(shape.k) / c.blockK) / c.clusterK);
  double weightBytes = double(shape.n) * shape.k * elementBytes * shape.batches;
  bool isHalfWidth = precision == GemmPrecision::halfWidth;
  double waits = 1;
  if (isHalfWidth && weightBytes > kCached)
    waits = c.blockK == 64                      ? kOfShortSteps
            : c.clusterK > 1 && rows > c.blockM ? kOfClustersInTurn
                                                : 1;
  double step = std::max(bytes / feed, arithmetic) * waits + costs.barrier;
  double finish = costs.finishPerElement * c.blockM * c.blockN / c.threads / c.clusterK +
                  costs.exchange(c.clusterK);
  bool hasWaves = isHalfWidth && blocks > double(multiprocessors) * resident;
  double weights = weightBytes / (hasWaves ? kMemoryInWaves : kMemory);
  return std::max(std::ceil(blocks / (multiprocessors * resident)) *
                      (kStart + steps * step + finish),
                  kStart + weights + finish);
}

/// ResNet-50 of one image takes 185 us on an H200, and with tensor maps for 196x256x2304 175, for 49x512x4608 179, for
/// 784x128x1152 180.
double microsecondsOfAddresses(const GemmChoice &choice, const GemmShape &shape,
                               bool hasTensorMaps) {
  constexpr double kOfStep = 0.22;
  if (!shape.hasWindows || choice.usesTensorMaps || !hasTensorMaps)
    return 0;
  return kOfStep * std::ceil(std::ceil(double(shape.k) / choice.blockK) / choice.clusterK);
}

} // namespace smelt::codegen
