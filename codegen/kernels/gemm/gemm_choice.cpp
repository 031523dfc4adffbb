// Two models, fitted to timings (programmatic launches, cold weights). gemm_wgmma and gemm_tma, on an H100 and an H200:
// estimatedClocks() of gemm_costs.h. The other templates, on an H200: to about 150 products; of 16-bit operands
// to 42 of up to 256 rows (n and k 384 to 3072), measured later:
//
//   time = waves * (start + steps * step + finish) , for a block that passes `steps` = K / blockK /
//   clusterK; a step takes as long as the slower of its operands' way to shared memory and its
//   arithmetic, plus the cost of the barrier
//
// One block alone takes in so much a microsecond, the blocks of one multiprocessor together more, those of all of
// them less each (MmaCosts), and memory no more than 4,000 KB. Blocks that fit a multiprocessor side by side share its rates; those that fit
// nowhere wait for the next wave. A cluster pays for the exchange of its sums. Only the order of
// the configurations matters: measured and modelled best agree within 10 % on the fitted set.
#include "codegen/kernels/gemm/gemm_choice.h"

#include "codegen/kernels/gemm/gemm_costs.h"
#include "codegen/kernels/gemm/gemm_descriptions.h"
#include "codegen/kernels/gemm/gemm_measurements.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <tuple>

using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

namespace smelt::codegen {

namespace {

// Microseconds, and bytes or FLOPs a microsecond.
constexpr double kStart = 0.9;
constexpr double kMemory = 4.0e6; // of weights, which are read once
constexpr double kClockPerMicrosecond = 1700, kWgmmaClockPerMicrosecond = 1840;

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

/// Shares of the peak that the main loops reach: mma.sync of 16 bits and of bytes where wgmma exists, and where
/// not, tf32, FFMA, and tf32 where floats are split, each product into three.
constexpr double kMmaBesideWgmma = 0.41, kMmaOfBytesBesideWgmma = 0.5, kMma = 0.8, kMmaTf32 = 0.4,
                 kSimt = 0.75, kMmaSplit = 0.5 / 3;

/// A tiling with the model of its time.
struct Candidate {
  GemmChoice choice;
  std::function<double(int64_t rows)> microseconds;
};

constexpr int64_t kAnyRows = std::numeric_limits<int64_t>::max();

constexpr double kNever = 1e9; ///< microseconds

/// Lists the tilings that fit one product on one target.
class CandidateList {
public:
  CandidateList(const GemmShape &shape, GemmPrecision precision, const Target &target)
      : shape(shape), precision(precision), target(target) {}

  std::vector<Candidate> run();

private:
  bool fits(const GemmChoice &choice) const {
    return choice.allSharedBytes(shape.sharedBytesPerRow) <= target.limits.sharedBytesPerBlock &&
           (choice.clusterK == 1 || target.instructions.clusters);
  }
  void add(GemmChoice choice, std::function<double(int64_t)> microseconds) {
    if (!fits(choice))
      return;
    double addresses = microsecondsOfAddresses(choice);
    candidates.push_back({std::move(choice), [=, time = std::move(microseconds)](int64_t rows) {
                            return time(rows) + addresses;
                          }});
  }
  double microsecondsOfAddresses(const GemmChoice &choice) const;
  /// By the model of the templates without wgmma.
  void add(const GemmChoice &choice, int elementBytes, double flopsPerClock) {
    add(choice, [=, this](int64_t rows) {
      return microseconds(choice, rows, elementBytes, flopsPerClock);
    });
  }
  /// The same, but for more rows in all than `mostRows` wgmma is faster, whatever the models say: measured.
  void addMma(const GemmTiling &tiling, int elementBytes, double flopsPerClock, int64_t mostRows) {
    GemmChoice choice = describe(withoutIdleStages(tiling, shape.k), elementBytes);
    add(choice, [=, this](int64_t rows) {
      return rows * shape.batches > mostRows
                 ? kNever
                 : microseconds(choice, rows, elementBytes, flopsPerClock);
    });
  }
  bool takesTensorMaps() const {
    return shape.allowsTensorMaps && shape.batches == 1 && target.instructions.tensorMaps;
  }
  template <class Tiling, class... Costs>
  void addWgmma(const Tiling &tiling, int elementBytes, const Costs &...costs) {
    add(describe(tiling, elementBytes), [=, this](int64_t rows) {
      if (!isMeasuredFor(tiling, rows))
        return kNever;
      return estimatedClocks(tiling, target.part.multiprocessors, rows, shape.n,
                             shape.k * elementBytes, shape.batches, costs...) /
             kWgmmaClockPerMicrosecond;
    });
  }
  bool takesTilesForOddRows() const;
  bool isMeasuredFor(const GemmWgmmaTiling &, int64_t) const { return true; }
  bool isMeasuredFor(const GemmTmaTiling &tiling, int64_t rows) const;
  bool suitsThreeInTurn(const GemmTmaTiling &tiling, int elementBytes) const;
  bool suits(const GemmTmaTiling &tiling, int elementBytes) const;
  /// All that fit the operands.
  void addWgmma(int elementBytes);
  void addHalfWidth();
  void addBytes();
  double microseconds(const GemmChoice &choice, int64_t rows, int elementBytes,
                      double flopsPerClock) const;

  const GemmShape &shape;
  GemmPrecision precision;
  const Target &target;
  std::vector<Candidate> candidates;
};

/// What copies of windows take a block to address, where another template has the hardware do it: ResNet-50 of one image
/// takes 185 us on an H200, and with tensor maps for 196x256x2304 175, for 49x512x4608 179, for 784x128x1152 180.
double CandidateList::microsecondsOfAddresses(const GemmChoice &choice) const {
  constexpr double kOfStep = 0.22;
  if (!shape.hasWindows || choice.usesTensorMaps || !takesTensorMaps())
    return 0;
  return kOfStep * std::ceil(std::ceil(double(shape.k) / choice.blockK) / choice.clusterK);
}

/// The model of the templates without wgmma; `flopsPerClock` of one multiprocessor.
double CandidateList::microseconds(const GemmChoice &c, int64_t rows, int elementBytes,
                                   double flopsPerClock) const {
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
  double step = std::max(bytes / feed, arithmetic) + costs.barrier;
  double finish = costs.finishPerElement * c.blockM * c.blockN / c.threads / c.clusterK +
                  costs.exchange(c.clusterK);
  double weights = double(shape.n) * shape.k * elementBytes * shape.batches / kMemory;
  return std::max(std::ceil(blocks / (multiprocessors * resident)) *
                      (kStart + steps * step + finish),
                  kStart + weights + finish);
}

/// Where B stays, a short K, and columns that are no half-empty tile and not too many; where it comes with A, no windows
/// (12544x256x2304 took 31.8 us, by 128 x 128 28.1), and no 96 columns of B [k][n], which are three boxes (3136x2048x1024: 70
/// and 24; H200).
bool CandidateList::suitsThreeInTurn(const GemmTmaTiling &tiling, int elementBytes) const {
  constexpr int kLeastRowsAtOnce = 3; // blocks that share a column's B
  constexpr int kFewColumns = 96;
  // Moments with a residual, of any number of rows, spill 20 bytes; CLIP's GELU behind a norm, of 12 statements, 16.
  if (shape.storesMoments || (shape.isLong && tiling.blockN > kFewColumns))
    return false;
  int64_t tilesN = llvm::divideCeil(shape.n, tiling.blockN);
  if (tiling.residentSteps > 0)
    return shape.k * elementBytes <= int64_t{tiling.residentSteps} * kWgmmaStepBytes &&
           tilesN * kLeastRowsAtOnce <= target.part.multiprocessors && tiling.blockN < 2 * shape.n;
  return !shape.hasWindows && (tiling.blockN % 64 == 0 || shape.isRightAlongK);
}

/// Plain products with 16 bits: one warpgroup that finishes wide tiles alone takes too long for more (Llama at 1x512, whose
/// heads it turned and whose gated products it took, 1.10 ms for 0.94), and where K is 384 2 to 10 %.
bool CandidateList::takesTilesForOddRows() const {
  constexpr int64_t kLeastDepth = 512;
  return precision == GemmPrecision::halfWidth && shape.isInFragments && !shape.readsRows &&
         !shape.callsFunctions && !shape.hasWindows && shape.k >= kLeastDepth;
}

/// Of tilings for odd rows: 256 columns pay where rows are few (513x11008x4096: 86 us, 109 without; 3152x8192x2048: 185 and 173).
/// Clusters of four lose where they do not all fit the GPU, and where the cache does not hold B (128x4096x14336: 56 us, 44
/// without).
bool CandidateList::isMeasuredFor(const GemmTmaTiling &tiling, int64_t rows) const {
  constexpr int64_t kMostRows = 4095, kMostCached = int64_t{20} << 20;
  if (!tiling.isForOddRows())
    return true;
  if (rows < kLeastOddRows)
    return false;
  if (tiling.clusterK == 1)
    return rows <= (tiling.blockN == 256 ? kRowsOfCopies : kMostRows);
  int64_t blocks = llvm::divideCeil(rows, tiling.blockM) *
                   llvm::divideCeil(shape.n, tiling.blockN) * tiling.clusterK;
  return blocks <= target.part.multiprocessors && shape.n * shape.k <= kMostCached;
}

/// Of bytes, those that were measured. Floats of 8 bits have no turns: who multiplies waits for each step's sums.
bool CandidateList::suits(const GemmTmaTiling &tiling, int elementBytes) const {
  if (tiling.isForOddRows() && !takesTilesForOddRows())
    return false;
  if (tiling.runsFreely())
    return shape.isInFragments && !shape.readsRows && suitsThreeInTurn(tiling, elementBytes);
  if (precision == GemmPrecision::float8)
    return holdsSumsOfSteps(tiling) && tiling.teams() == 1 &&
           (tiling.blockM == 128 ? tiling.clusterK == 1 : !tiling.oneTile || tiling.blockN <= 64);
  if (tiling.teams() > 2)
    return suitsThreeInTurn(tiling, elementBytes);
  return precision == GemmPrecision::halfWidth || (tiling.blockM == 128 && tiling.clusterK == 1);
}

WgmmaOperands operandsOf(GemmPrecision precision) {
  return precision == GemmPrecision::int8     ? WgmmaOperands::integers
         : precision == GemmPrecision::float8 ? WgmmaOperands::floats8
                                              : WgmmaOperands::halves;
}

void CandidateList::addWgmma(int elementBytes) {
  WgmmaOperands operands = operandsOf(precision);
  bool isBytes = operands != WgmmaOperands::halves;
  // Of 16 bits, after the only step.
  bool callsAtOnce = shape.callsFunctions && !isBytes && shape.k * elementBytes <= kWgmmaStepBytes;
  GemmEnds ends = {shape.storesMoments,   shape.isRightAlongK, shape.isInFragments,
                   shape.callsFunctions,  callsAtOnce,         shape.readsRows,
                   takesTilesForOddRows()};
  GemmWgmmaCosts costs = gemmWgmmaCosts(operands, callsAtOnce, ends.isPlain);
  auto hasRegisters = [&](const GemmWgmmaTiling &tiling) {
    return operands != WgmmaOperands::floats8 || holdsSumsOfSteps(tiling);
  };
  for (const GemmWgmmaTiling &tiling : kGemmWgmmaTilings)
    if (hasRegisters(tiling))
      addWgmma(tiling, elementBytes, costs);
  if (isBytes && shape.k <= kShallowBytes)
    for (const GemmWgmmaTiling &tiling : kGemmShallowTilings)
      if (hasRegisters(tiling))
        addWgmma(tiling, elementBytes, costs);
  if (!takesTensorMaps())
    return;
  // Of half-empty tiles the costs are off: 802816x64x256 took 146 us by columns of 128, and 95 by 64 (H100).
  auto isHalfEmpty = [&](const GemmTmaTiling &tiling) {
    return tiling.blockN > 64 && tiling.blockN >= 2 * shape.n;
  };
  GemmMapCosts costsOfMaps = gemmMapCosts(operands, ends);
  for (const GemmTmaTiling &tiling : kGemmResidentTilings)
    if (suits(tiling, elementBytes) && !isHalfEmpty(tiling))
      addWgmma(tiling, elementBytes, costsOfMaps);
  for (const GemmTmaTiling &tiling : kGemmTmaTilings)
    if (suits(tiling, elementBytes) && !isHalfEmpty(tiling))
      addWgmma(withoutIdleStages(tiling, shape.k * elementBytes), elementBytes, costsOfMaps);
  if (operands == WgmmaOperands::floats8)
    for (const GemmTmaTiling &tiling : kGemmFreeTilings)
      if (suits(tiling, elementBytes) && !isHalfEmpty(tiling))
        addWgmma(tiling, elementBytes, costsOfMaps);
  if (operands != WgmmaOperands::floats8 && shape.isInFragments)
    for (const GemmTmaTiling &tiling : kGemmFragmentTilings)
      if (!isHalfEmpty(tiling))
        addWgmma(tiling, elementBytes, costsOfMaps);
}

void CandidateList::addHalfWidth() {
  // mma's model counts no results: 200704x64x64 took it 24 us, and 19 by tensor maps (H200), whose narrowest tiles
  // hold 64 columns.
  constexpr int64_t kMostRowsOfMma = 4096, kFewColumns = 32;
  bool hasRivals = takesTensorMaps() && shape.n > kFewColumns;
  bool hasWgmma = target.instructions.wgmma;
  double flops = target.flopsPerClock.half * (hasWgmma ? kMmaBesideWgmma : kMma);
  for (const GemmTiling &tiling :
       {kGemmFewRows, kGemmFewRowsSplit, kGemmSmall, kGemmPortable[0], kGemmPortable[1]})
    addMma(tiling, 2, flops, hasWgmma && hasRivals ? kMostRowsOfMma : kAnyRows);
  if (!hasWgmma) {
    for (const GemmTiling &tiling : ArrayRef(kGemmPortable).drop_front(2))
      addMma(tiling, 2, flops, kAnyRows);
    return;
  }
  addWgmma(2);
}

void CandidateList::addBytes() {
  const int64_t mostRowsOfMma = precision == GemmPrecision::float8 ? 64 : 256;
  const Target::Rates &rates = target.flopsPerClock;
  // Floats of 8 bits are multiplied as halves.
  double flops = rates.int8 > 0 && precision == GemmPrecision::int8 ? rates.int8 : rates.half;
  flops *= target.instructions.wgmma ? kMmaOfBytesBesideWgmma : kMma;
  bool hasWgmma = target.instructions.wgmma && shape.isRightAlongK;
  for (const GemmTiling &tiling : kGemmInt8)
    addMma(tiling, 1, flops, hasWgmma ? mostRowsOfMma : kAnyRows);
  if (hasWgmma)
    addWgmma(1);
}

std::vector<Candidate> CandidateList::run() {
  switch (precision) {
  case GemmPrecision::halfWidth:
    addHalfWidth();
    break;
  case GemmPrecision::int8:
  case GemmPrecision::float8:
    addBytes();
    break;
  case GemmPrecision::tf32:
    for (const GemmTiling &tiling : kGemmTf32)
      add(describe(tiling, 4), 4, target.flopsPerClock.tf32 * kMmaTf32);
    break;
  case GemmPrecision::float32:
    for (const GemmSimtTiling &tiling : kGemmSimtTilings)
      add(describe(tiling), 4, target.flopsPerClock.float32 * kSimt);
    for (const GemmSplitTiling &tiling : kGemmSplitTilings)
      add(describe(tiling), 4, target.flopsPerClock.tf32 * kMmaSplit);
  }
  return std::move(candidates);
}

/// Brings the model to what was measured.
void correct(std::vector<Candidate> &candidates, ArrayRef<TilingTime> times) {
  auto modelled = [&](StringRef tiling, int64_t rows) -> std::optional<double> {
    auto found =
        llvm::find_if(candidates, [&](const Candidate &c) { return c.choice.name == tiling; });
    return found == candidates.end() ? std::nullopt : std::optional(found->microseconds(rows));
  };
  auto measurements = std::make_shared<const GemmMeasurements>(times, modelled);
  if (measurements->isEmpty())
    return;
  for (Candidate &candidate : candidates) {
    candidate.choice.isMeasured = measurements->has(candidate.choice.name);
    candidate.microseconds = [measurements, name = candidate.choice.name,
                              model = std::move(candidate.microseconds)](int64_t rows) {
      return model(rows) * measurements->factor(name, rows);
    };
  }
}

/// The choice of a few tilings for any row count: every one is a kernel to compile.
class RangeChoice {
public:
  RangeChoice(ArrayRef<Candidate> candidates, int64_t mostRows, ArrayRef<TilingTime> times)
      : candidates(candidates), rows(rowCounts(mostRows, times)) {
    for (int64_t count : rows) {
      SmallVector<double> &times = slowdowns.emplace_back();
      for (const Candidate &candidate : candidates)
        times.push_back(candidate.microseconds(count));
      double fastest = *std::min_element(times.begin(), times.end());
      for (double &time : times)
        time /= fastest;
    }
  }

  std::vector<GemmRange> run() {
    chooseFew();
    std::vector<GemmRange> ranges;
    size_t current = 0;
    for (size_t at = 0; at < rows.size(); ++at) {
      size_t best = *llvm::min_element(
          chosen, [&](size_t a, size_t b) { return slowdowns[at][a] < slowdowns[at][b]; });
      if (at == 0 || slowdowns[at][current] > kAlike * slowdowns[at][best]) {
        current = best;
        ranges.push_back({candidates[current].choice, {}});
      }
      ranges.back().lastRow = rows[at];
    }
    ranges.back().lastRow = std::nullopt;
    return ranges;
  }

private:
  static constexpr double kLeastGain = 0.008; ///< of a tiling, for compiling it
  /// At any row count: Llama's vocabulary at 512 rows, by 192 x 192 as for more, made the model 4 % slower.
  static constexpr double kMostSlowdown = 1.09;
  static constexpr double kAlike = 1.01; ///< no reason for another range: the model errs by more

  /// The row counts that stand for those since the one before: dense where they are few, for there a
  /// tile more or less matters most. Beyond the last, waves are many and the best tiling stays. Those that were
  /// measured are among them.
  static SmallVector<int64_t> rowCounts(int64_t mostRows, ArrayRef<TilingTime> times) {
    SmallVector<int64_t> counts;
    for (int64_t rows = 16; rows <= mostRows; rows += rows < 256     ? 16
                                                      : rows < 2048  ? 64
                                                      : rows < 16384 ? 128
                                                                     : rows)
      counts.push_back(rows);
    for (const TilingTime &time : times)
      counts.push_back(time.rows);
    llvm::sort(counts);
    counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
    return counts;
  }

  /// The mean slowdown over all row counts, where doubling them counts the same everywhere, with
  /// one more tiling.
  double meanSlowdown(ArrayRef<double> present, size_t candidate) const {
    double sum = 0;
    for (size_t at = 0; at < rows.size(); ++at)
      sum += std::min(present[at], slowdowns[at][candidate]) *
             std::log2(double(rows[at]) / (at == 0 ? 1 : rows[at - 1]));
    return sum / std::log2(double(rows.back()));
  }

  /// Adds the tiling that gains most as long as it gains something, then those of the row counts at which
  /// the others are far slower.
  void chooseFew() {
    constexpr double kNone = 1e9;
    SmallVector<double> present(rows.size(), kNone);
    for (double mean = kNone;;) {
      size_t best = 0;
      double least = kNone;
      for (size_t candidate = 0; candidate < candidates.size(); ++candidate)
        if (double with = meanSlowdown(present, candidate); with < least)
          least = with, best = candidate;
      if (mean - least < kLeastGain)
        break;
      mean = least;
      take(best, present);
    }
    for (auto slowest = llvm::max_element(present); *slowest > kMostSlowdown;
         slowest = llvm::max_element(present)) {
      const SmallVector<double> &there = slowdowns[slowest - present.begin()];
      take(llvm::min_element(there) - there.begin(), present);
    }
  }

  void take(size_t candidate, SmallVector<double> &present) {
    chosen.push_back(candidate);
    for (size_t at = 0; at < rows.size(); ++at)
      present[at] = std::min(present[at], slowdowns[at][candidate]);
  }

  ArrayRef<Candidate> candidates;
  SmallVector<int64_t> rows;
  std::vector<SmallVector<double>> slowdowns; ///< of row counts, of candidates: over the fastest
  SmallVector<size_t> chosen;                 ///< candidates
};

} // namespace

std::vector<GemmChoice> rankGemmTilings(const GemmShape &shape, GemmPrecision precision,
                                        const Target &target, ArrayRef<TilingTime> times) {
  std::vector<GemmChoice> ranked;
  CandidateList list(shape, precision, target); // which candidates refer to
  std::vector<Candidate> candidates = list.run();
  correct(candidates, times);
  for (Candidate &candidate : candidates) {
    candidate.choice.microseconds = candidate.microseconds(shape.m);
    ranked.push_back(std::move(candidate.choice));
  }
  llvm::sort(ranked, [](const GemmChoice &a, const GemmChoice &b) {
    return std::tie(a.microseconds, a.config) < std::tie(b.microseconds, b.config);
  });
  return ranked;
}

std::vector<GemmRange> chooseGemmRanges(const GemmShape &shape, GemmPrecision precision,
                                        const Target &target,
                                        llvm::function_ref<bool(const GemmChoice &)> isUsable,
                                        ArrayRef<TilingTime> times) {
  CandidateList list(shape, precision, target);
  std::vector<Candidate> candidates = list.run();
  correct(candidates, times);
  // Of smaller weights one of the tilings for odd rows is worth compiling: with all of them BERT-base takes 12 kernels more.
  constexpr int64_t kLargeWeights = int64_t{4} << 20;
  constexpr int kOfSmallWeights = 192; // columns
  bool isSmall = shape.n * shape.k < kLargeWeights;
  llvm::erase_if(candidates, [&](const Candidate &c) {
    return !isUsable(c.choice) ||
           (isSmall && c.choice.isForOddRows && c.choice.blockN != kOfSmallWeights);
  });
  // Bytes are those of images above all, whose pixels are many rows.
  constexpr int64_t kMostRows = 16384, kMostPixels = int64_t{1} << 19;
  bool isOfBytes = precision == GemmPrecision::int8 || precision == GemmPrecision::float8;
  int64_t mostRows = isOfBytes ? kMostPixels : kMostRows;
  return candidates.empty() ? std::vector<GemmRange>()
                            : RangeChoice(candidates, mostRows, times).run();
}

int64_t typicalRows(int64_t firstRow, std::optional<int64_t> lastRow) {
  constexpr int64_t kMany = 256;
  if (!lastRow)
    return std::max(2 * firstRow, kMany);
  return std::llround(std::sqrt(double(std::max<int64_t>(firstRow, 1)) * double(*lastRow)));
}

} // namespace smelt::codegen
