// The tilings of a product of any number of rows: a few that are close to the fastest at each.
//
// Problem: every tiling is a kernel to compile, and none is good at all numbers of rows. Method: times are modelled at some 150 numbers
// of rows; the tiling that lessens the mean slowdown most joins those chosen, until none lessens it by 0.8 %; then those without which
// some number of rows would take 9 % longer. Neighbours that one tiling serves are a range.
#include "codegen/kernels/gemm/gemm_candidates.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cmath>

using llvm::ArrayRef;
using llvm::SmallVector;

namespace smelt::codegen {

namespace {

/// The choice of a few tilings for any row count: every one is a kernel to compile.
class RangeChoice {
public:
  RangeChoice(ArrayRef<GemmCandidate> candidates, int64_t mostRows, ArrayRef<TilingTime> times)
      : candidates(candidates), rows(rowCounts(mostRows, times)) {
    for (int64_t count : rows) {
      SmallVector<double> &times = slowdowns.emplace_back();
      for (const GemmCandidate &candidate : candidates)
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

  ArrayRef<GemmCandidate> candidates;
  SmallVector<int64_t> rows;
  std::vector<SmallVector<double>> slowdowns; ///< of row counts, of candidates: over the fastest
  SmallVector<size_t> chosen;                 ///< candidates
};

} // namespace

std::vector<GemmRange> chooseGemmRanges(const GemmShape &shape, GemmPrecision precision,
                                        const Target &target,
                                        llvm::function_ref<bool(const GemmChoice &)> isUsable,
                                        ArrayRef<TilingTime> times) {
  std::vector<GemmCandidate> candidates = gemmCandidates(shape, precision, target, times);
  // Of smaller weights one of the tilings for odd rows is worth compiling: with all of them BERT-base takes 12 kernels more.
  constexpr int64_t kLargeWeights = int64_t{4} << 20;
  constexpr int kOfSmallWeights = 192; // columns
  bool isSmall = shape.n * shape.k < kLargeWeights;
  llvm::erase_if(candidates, [&](const GemmCandidate &c) {
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
