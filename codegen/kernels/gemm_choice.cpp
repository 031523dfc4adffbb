// The model. A block of a tile passes ceil(K / blockK / clusterK) steps; a step takes as long as
// the slower of
//   - its arithmetic: blockM * blockN * blockK * 2 FLOPs at the template's rate a clock and
//   multiprocessor, shared by the
//     blocks that sit on one multiprocessor, less where a warp's fragment is small;
//   - its feed: (blockM + blockN) * blockK elements from L2, at 64 bytes a clock for one
//   multiprocessor and about 6150
//     for all of them together.
// To that come the fill of the pipeline, the epilogue, and for clusters the exchange of the sums.
// Blocks run in waves over the multiprocessors. Constants fitted to measurements on an H200; the
// choice only needs their order to be right.
#include "codegen/kernels/gemm_choice.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace smelt::codegen {

namespace {

constexpr double kClocksPerMicrosecond = 1700;
constexpr double kFeedPerMultiprocessor = 64, kFeedInAll = 6150; // bytes a clock from L2
constexpr double kFillClocks = 1500, kEpilogueClocks = 900, kExchangeClocks = 700;
constexpr double kStepClocks = 60; // barrier and address arithmetic of one step

/// FLOPs a clock and multiprocessor that the main loop reaches.
double arithmeticRate(GemmPrecision precision) {
  switch (precision) {
  case GemmPrecision::halfWidth:
    return 2400;
  case GemmPrecision::tf32:
    return 1100;
  case GemmPrecision::float32:
    return 200;
  }
  return 0;
}

struct Candidate {
  int blockM, blockN, blockK, stages, clusterK, threads, sharedBytes;
  std::string config;
};

Candidate describe(const GemmTiling &t, int elementBytes) {
  std::string numbers;
  for (int number : {t.blockM, t.blockN, t.blockK, t.warpsM, t.warpsN, t.stages, t.clusterK})
    numbers += (numbers.empty() ? "" : ", ") + std::to_string(number);
  return {t.blockM,
          t.blockN,
          t.blockK,
          t.stages,
          t.clusterK,
          t.threads(),
          t.sharedBytes(elementBytes),
          "GemmConfig<" + numbers + ">"};
}

Candidate describe(const GemmSimtTiling &t) {
  std::string numbers;
  for (int number : {t.blockM, t.blockN, t.blockK, t.threadM, t.threadN, t.stages, t.clusterK})
    numbers += (numbers.empty() ? "" : ", ") + std::to_string(number);
  return {t.blockM,   t.blockN,    t.blockK,        t.stages,
          t.clusterK, t.threads(), t.sharedBytes(), "GemmSimtConfig<" + numbers + ">"};
}

std::vector<Candidate> candidates(GemmPrecision precision) {
  std::vector<Candidate> all;
  if (precision == GemmPrecision::float32) {
    for (const GemmSimtTiling &t : {GemmSimtTiling{128, 128, 16, 8, 8, 3, 1},
                                    {64, 64, 16, 8, 4, 4, 1},
                                    {64, 64, 32, 4, 8, 3, 4},
                                    {32, 64, 32, 4, 4, 4, 4},
                                    {16, 64, 32, 2, 4, 4, 8}})
      all.push_back(describe(t));
    return all;
  }
  if (precision == GemmPrecision::tf32) {
    for (int cluster : {1, 2, 4})
      all.push_back(describe(GemmTiling{64, 64, 32, 2, 2, 4, cluster}, 4));
    all.push_back(describe(GemmTiling{128, 128, 32, 2, 2, 3, 1}, 4));
    return all;
  }
  for (const GemmTiling &t : {GemmTiling{64, 64, 64, 2, 2, 4, 1},
                              {64, 64, 64, 2, 2, 4, 2},
                              {64, 64, 64, 2, 2, 4, 4},
                              {64, 64, 64, 2, 2, 4, 8},
                              {64, 32, 64, 2, 2, 6, 1},
                              {64, 32, 64, 2, 2, 6, 2},
                              {32, 64, 64, 2, 2, 6, 2},
                              {16, 64, 128, 1, 4, 4, 4},
                              {128, 64, 64, 4, 2, 3, 8},
                              {128, 128, 32, 2, 2, 4, 1},
                              {128, 128, 64, 2, 4, 3, 1},
                              {128, 256, 32, 2, 4, 4, 1},
                              {64, 128, 64, 2, 2, 4, 1}})
    all.push_back(describe(t, 2));
  return all;
}

double ceilDivide(double a, double b) { return std::ceil(a / b); }

double modelMicroseconds(const Candidate &c, const GemmShape &shape, GemmPrecision precision,
                         const Target &target) {
  double elementBytes = precision == GemmPrecision::halfWidth ? 2 : 4;
  double tiles = ceilDivide(shape.m, c.blockM) * ceilDivide(shape.n, c.blockN) * shape.batches;
  double blocks = tiles * c.clusterK;
  double resident =
      std::max(1.0, std::min({std::floor(target.sharedBytesPerBlock / double(c.sharedBytes)),
                              std::floor(2048.0 / c.threads),
                              std::floor(65536.0 / (c.threads * 200.0)), 3.0}));
  double waves = ceilDivide(blocks, target.multiprocessors * resident);
  double together = std::min(resident, std::ceil(blocks / target.multiprocessors));
  double active = std::min<double>(target.multiprocessors, blocks);
  double steps = ceilDivide(ceilDivide(shape.k, c.blockK), c.clusterK);
  double arithmetic = 2.0 * c.blockM * c.blockN * c.blockK / arithmeticRate(precision) * together;
  double feedRate = std::min(kFeedPerMultiprocessor, kFeedInAll / active);
  double feed = (c.blockM + c.blockN) * c.blockK * elementBytes / feedRate * together;
  double clocks = kFillClocks +
                  kEpilogueClocks * c.blockM * c.blockN / (64.0 * 64.0) *
                      (c.clusterK > 1 ? 1.0 / c.clusterK : 1.0) +
                  (c.clusterK > 1 ? kExchangeClocks : 0) +
                  steps * (std::max(arithmetic, feed) + kStepClocks);
  return waves * clocks / kClocksPerMicrosecond;
}

} // namespace

std::vector<GemmChoice> rankGemmTilings(const GemmShape &shape, GemmPrecision precision,
                                        const Target &target) {
  std::vector<GemmChoice> ranked;
  for (const Candidate &c : candidates(precision)) {
    bool fits =
        c.sharedBytes <= target.sharedBytesPerBlock && (c.clusterK == 1 || target.hasClusters());
    if (fits)
      ranked.push_back({c.config, c.blockM, c.blockN, c.clusterK, c.threads, c.sharedBytes,
                        modelMicroseconds(c, shape, precision, target)});
  }
  llvm::sort(ranked, [](const GemmChoice &a, const GemmChoice &b) {
    return std::tie(a.microseconds, a.config) < std::tie(b.microseconds, b.config);
  });
  return ranked;
}

} // namespace smelt::codegen
