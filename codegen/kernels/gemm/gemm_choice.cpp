// Two models, both fitted to timings on an H200 (programmatic launches, cold weights). gemm_wgmma:
// estimatedClocks() of gemm_config.cuh. The other templates, to about 150 products:
//
//   time = waves * (start + steps * step + finish) , for a block that passes `steps` = K / blockK /
//   clusterK; a step takes as long as the slower of its operands' way to shared memory and its
//   arithmetic, plus the cost of the barrier
//
// One block alone takes in 75 KB a microsecond, the blocks of one multiprocessor together 100, all
// together 7000. Blocks that fit a multiprocessor side by side share its rates; those that fit
// nowhere wait for the next wave. A cluster pays for the exchange of its sums. Only the order of
// the configurations matters: measured and modelled best agree within 10 % on the fitted set.
#include "codegen/kernels/gemm/gemm_choice.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

using llvm::ArrayRef;

namespace smelt::codegen {

namespace {

// Microseconds, and bytes or FLOPs a microsecond.
constexpr double kStart = 0.9, kBarrier = 0.02, kFinishPerElement = 0.01;
constexpr double kBlockFeed = 75e3, kMultiprocessorFeed = 100e3, kTotalFeed = 7e6;
constexpr double kClockPerMicrosecond = 1700, kWgmmaClockPerMicrosecond = 1840;
/// Of the exchange between 1, 2, 4 and 8 blocks of a cluster.
constexpr double exchange(int clusterK) {
  return clusterK == 1 ? 0 : clusterK == 2 ? 0.7 : clusterK == 4 ? 1.6 : 2.8;
}

constexpr int kReservedSharedBytes = 1024; // of every resident block
constexpr int kMaxThreads = 2048, kMaxResident = 3;

struct Candidate {
  GemmChoice choice;
  int elementBytes = 2;
  double flopsPerClock = 0;                  ///< of one multiprocessor
  std::optional<GemmWgmmaTiling> wgmma = {}; ///< has a model of its own
};

std::string spell(const char *name, std::initializer_list<int> numbers) {
  std::string text;
  for (int number : numbers)
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  return std::string(name) + "<" + text + ">";
}

Candidate wgmma(const GemmWgmmaTiling &t) {
  GemmChoice choice{"gemm_wgmma",
                    "gemmWgmma",
                    spell("GemmWgmmaConfig", {t.blockM, t.blockN, t.stages, t.clusterK, t.helpers}),
                    t.blockM,
                    t.blockN,
                    t.kBlockK,
                    t.clusterK,
                    t.threads(),
                    t.sharedBytes()};
  return {choice, 2, 0, t};
}

Candidate mma(GemmTiling t, int elementBytes) {
  GemmChoice choice{"gemm",
                    "gemm",
                    spell("GemmConfig", {t.blockM, t.blockN, t.blockK, t.warpsM, t.warpsN, t.stages,
                                         t.clusterK, t.warpsK}),
                    t.blockM,
                    t.blockN,
                    t.blockK,
                    t.clusterK,
                    t.threads(),
                    t.sharedBytes(elementBytes)};
  return {choice, elementBytes, elementBytes == 2 ? 4096 * 0.5 : 2048 * 0.4};
}

Candidate simt(GemmSimtTiling t) {
  GemmChoice choice{"gemm_simt",
                    "gemmSimt",
                    spell("GemmSimtConfig", {t.blockM, t.blockN, t.blockK, t.threadM, t.threadN,
                                             t.stages, t.clusterK}),
                    t.blockM,
                    t.blockN,
                    t.blockK,
                    t.clusterK,
                    t.threads(),
                    t.sharedBytes()};
  return {choice, 4, 256 * 0.75};
}

std::vector<Candidate> halfWidthCandidates(bool hasWgmma) {
  std::vector<Candidate> all;
  for (const GemmTiling &t :
       {kGemmFewRows, kGemmFewRowsSplit, kGemmSmall, kGemmPortable[0], kGemmPortable[1]})
    all.push_back(mma(t, 2));
  if (hasWgmma)
    for (const GemmWgmmaTiling &t : kGemmWgmmaTilings)
      all.push_back(wgmma(t));
  else
    for (const GemmTiling &t : ArrayRef(kGemmPortable).drop_front(2))
      all.push_back(mma(t, 2));
  return all;
}

std::vector<Candidate> candidates(GemmPrecision precision, const Target &target) {
  if (precision == GemmPrecision::halfWidth)
    return halfWidthCandidates(target.hasClusters());
  std::vector<Candidate> all;
  if (precision == GemmPrecision::tf32)
    for (const GemmTiling &t : kGemmTf32)
      all.push_back(mma(t, 4));
  else
    for (const GemmSimtTiling &t : kGemmSimtTilings)
      all.push_back(simt(t));
  return all;
}

double microseconds(const Candidate &candidate, const GemmShape &shape, const Target &target) {
  const GemmChoice &c = candidate.choice;
  if (candidate.wgmma)
    return estimatedClocks(*candidate.wgmma, shape.m, shape.n, shape.k, shape.batches) /
           kWgmmaClockPerMicrosecond;
  double tiles =
      std::ceil(double(shape.m) / c.blockM) * std::ceil(double(shape.n) / c.blockN) * shape.batches;
  double blocks = tiles * c.clusterK;
  int resident =
      std::clamp(std::min(target.sharedBytesPerBlock / (c.sharedBytes + kReservedSharedBytes),
                          kMaxThreads / c.threads),
                 1, kMaxResident);
  double atOnce = std::min<double>(blocks, target.multiprocessors * resident);
  double together = std::ceil(atOnce / target.multiprocessors);
  double feed = std::min({kBlockFeed, kMultiprocessorFeed / together, kTotalFeed / atOnce});
  double bytes = double(c.blockM + c.blockN) * c.blockK * candidate.elementBytes;
  double arithmetic = 2.0 * c.blockM * c.blockN * c.blockK * together /
                      (candidate.flopsPerClock * kClockPerMicrosecond);
  double steps = std::ceil(std::ceil(double(shape.k) / c.blockK) / c.clusterK);
  double step = std::max(bytes / feed, arithmetic) + kBarrier;
  double finish =
      kFinishPerElement * c.blockM * c.blockN / c.threads / c.clusterK + exchange(c.clusterK);
  return std::ceil(blocks / (target.multiprocessors * resident)) * (kStart + steps * step + finish);
}

} // namespace

std::vector<GemmChoice> rankGemmTilings(const GemmShape &shape, GemmPrecision precision,
                                        const Target &target) {
  std::vector<GemmChoice> ranked;
  for (const Candidate &candidate : candidates(precision, target)) {
    const GemmChoice &choice = candidate.choice;
    if (choice.sharedBytes > target.sharedBytesPerBlock ||
        (choice.clusterK > 1 && !target.hasClusters()))
      continue;
    ranked.push_back(choice);
    ranked.back().microseconds = microseconds(candidate, shape, target);
  }
  llvm::sort(ranked, [](const GemmChoice &a, const GemmChoice &b) {
    return std::tie(a.microseconds, a.config) < std::tie(b.microseconds, b.config);
  });
  return ranked;
}

} // namespace smelt::codegen
