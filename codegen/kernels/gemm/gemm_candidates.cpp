// Which tilings are offered for a product, by what was measured of their templates, and the models of their times: of gemm_wgmma and
// gemm_tma gemm_wgmma_costs.h and gemm_tma_costs.h, of the other templates gemm_mma_costs.h.
#include "codegen/kernels/gemm/gemm_candidates.h"

#include "codegen/kernels/gemm/gemm_descriptions.h"
#include "codegen/kernels/gemm/gemm_measurements.h"
#include "codegen/kernels/gemm/gemm_mma_costs.h"
#include "codegen/kernels/gemm/gemm_tma_costs.h"
#include "codegen/kernels/gemm/gemm_wgmma_costs.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>
#include <memory>

using llvm::ArrayRef;
using llvm::StringRef;

namespace smelt::codegen {

namespace {

constexpr double kWgmmaClockPerMicrosecond = 1840;

constexpr int64_t kAnyRows = std::numeric_limits<int64_t>::max();

constexpr double kNever = 1e9; ///< microseconds

/// Of tilings for odd rows: 256 columns pay where rows are few (513x11008x4096: 86 us, 109 without; 3152x8192x2048: 185 and 173).
/// Clusters of four lose where they do not all fit the GPU, and where the cache does not hold B (128x4096x14336: 56 us, 44
/// without).
bool isMeasuredFor(const GemmTmaTiling &tiling, const GemmShape &shape, int64_t rows,
                   int multiprocessors) {
  constexpr int64_t kMostRows = 4095, kMostCached = int64_t{20} << 20;
  if (!tiling.isForOddRows())
    return true;
  if (rows < kLeastOddRows)
    return false;
  if (tiling.clusterK == 1)
    return rows <= (tiling.blockN == 256 ? kRowsOfCopies : kMostRows);
  int64_t blocks = llvm::divideCeil(rows, tiling.blockM) *
                   llvm::divideCeil(shape.n, tiling.blockN) * tiling.clusterK;
  return blocks <= multiprocessors && shape.n * shape.k <= kMostCached;
}

bool isMeasuredFor(const GemmWgmmaTiling &, const GemmShape &, int64_t, int) { return true; }

/// Lists the tilings that fit one product on one target.
class CandidateList {
public:
  CandidateList(const GemmShape &shape, GemmPrecision precision, const Target &target)
      : shape(shape), precision(precision), target(target) {}

  std::vector<GemmCandidate> run();

private:
  using Model = std::function<double(int64_t rows)>; // microseconds

  bool fits(const GemmChoice &choice) const {
    return choice.allSharedBytes(shape.sharedBytesPerRow) <= target.limits.sharedBytesPerBlock &&
           (choice.clusterK == 1 || target.instructions.clusters);
  }
  void add(GemmChoice choice, Model microseconds) {
    if (!fits(choice))
      return;
    double addresses = microsecondsOfAddresses(choice, shape, takesTensorMaps());
    candidates.push_back({std::move(choice), [=, time = std::move(microseconds)](int64_t rows) {
                            return time(rows) + addresses;
                          }});
  }
  Model modelOfMma(const GemmChoice &choice, int elementBytes, double flopsPerClock) const {
    return [=, &shape = shape, precision = precision, &target = target](int64_t rows) {
      return mmaMicroseconds(choice, shape, precision, target, rows, elementBytes, flopsPerClock);
    };
  }
  void add(const GemmChoice &choice, int elementBytes, double flopsPerClock) {
    add(choice, modelOfMma(choice, elementBytes, flopsPerClock));
  }
  /// The same, but for more rows in all than `mostRows` wgmma is faster, whatever the models say: measured.
  void addMma(const GemmTiling &tiling, int elementBytes, double flopsPerClock, int64_t mostRows) {
    GemmChoice choice = describe(withoutIdleStages(tiling, shape.k), elementBytes);
    add(choice, [mostRows, batches = shape.batches,
                 model = modelOfMma(choice, elementBytes, flopsPerClock)](int64_t rows) {
      return rows * batches > mostRows ? kNever : model(rows);
    });
  }
  bool takesTensorMaps() const {
    return shape.allowsTensorMaps && shape.batches == 1 && target.instructions.tensorMaps;
  }
  template <class Tiling, class... Costs>
  void addWgmma(const Tiling &tiling, int elementBytes, const Costs &...costs) {
    add(describe(tiling, elementBytes),
        [=, &shape = shape, multiprocessors = target.part.multiprocessors](int64_t rows) {
          if (!isMeasuredFor(tiling, shape, rows, multiprocessors))
            return kNever;
          return estimatedClocks(tiling, multiprocessors, rows, shape.n, shape.k * elementBytes,
                                 shape.batches, costs...) /
                 kWgmmaClockPerMicrosecond;
        });
  }
  bool takesTilesForOddRows() const;
  bool suitsThreeInTurn(const GemmTmaTiling &tiling, int elementBytes) const;
  bool suits(const GemmTmaTiling &tiling, int elementBytes) const;
  /// All that fit the operands.
  void addWgmma(int elementBytes);
  void addHalfWidth();
  void addBytes();

  const GemmShape &shape;
  GemmPrecision precision;
  const Target &target;
  std::vector<GemmCandidate> candidates;
};

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

std::vector<GemmCandidate> CandidateList::run() {
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
void correct(std::vector<GemmCandidate> &candidates, ArrayRef<TilingTime> times) {
  auto modelled = [&](StringRef tiling, int64_t rows) -> std::optional<double> {
    auto found =
        llvm::find_if(candidates, [&](const GemmCandidate &c) { return c.choice.name == tiling; });
    return found == candidates.end() ? std::nullopt : std::optional(found->microseconds(rows));
  };
  auto measurements = std::make_shared<const GemmMeasurements>(times, modelled);
  if (measurements->isEmpty())
    return;
  for (GemmCandidate &candidate : candidates) {
    candidate.choice.isMeasured = measurements->has(candidate.choice.name);
    candidate.microseconds = [measurements, name = candidate.choice.name,
                              model = std::move(candidate.microseconds)](int64_t rows) {
      return model(rows) * measurements->factor(name, rows);
    };
  }
}

} // namespace

std::vector<GemmCandidate> gemmCandidates(const GemmShape &shape, GemmPrecision precision,
                                          const Target &target, ArrayRef<TilingTime> times) {
  std::vector<GemmCandidate> candidates = CandidateList(shape, precision, target).run();
  correct(candidates, times);
  return candidates;
}

} // namespace smelt::codegen
