#include "runtime/weight_loops.h"

#include <algorithm>

namespace smelt::runtime {

/// Beyond so many copies of rows, gathering on the host and one copy are faster.
constexpr uint64_t kMostCopies = 256;

uint64_t roundsOf(std::span<const plan::CopyLoop> loops) {
  uint64_t rounds = 1;
  for (const plan::CopyLoop &loop : loops)
    rounds *= loop.count();
  return rounds;
}

std::vector<plan::CopyLoop> withRows(std::span<const plan::CopyLoop> loops) {
  std::vector<plan::CopyLoop> result(loops.begin(), loops.end());
  if (result.empty() || result.back().source_stride() != 1 || result.back().target_stride() != 1)
    result.emplace_back(1, 1, 1);
  return result;
}

/// Rows `next` apart are one copy.
static bool isCopyOfRows(const plan::CopyLoop &next, const plan::CopyLoop &row) {
  return next.source_stride() >= row.count() && next.target_stride() >= row.count();
}

std::span<const plan::CopyLoop> outerLoops(std::span<const plan::CopyLoop> loops) {
  bool isOfRows = loops.size() > 1 && isCopyOfRows(loops[loops.size() - 2], loops.back());
  return loops.first(loops.size() - (isOfRows ? 2 : 1));
}

bool isCopied(plan::ElementType type, const plan::WeightPartT &part) {
  std::vector<plan::CopyLoop> loops = withRows(part.loops);
  bool hasRows = loops.size() == part.loops.size() || part.loops.empty();
  return part.element_type == type && hasRows && roundsOf(outerLoops(loops)) <= kMostCopies;
}

bool isUpdatedByCopies(const plan::InitializerT &initializer) {
  return std::all_of(initializer.parts.begin(), initializer.parts.end(),
                     [&](const auto &part) { return isCopied(initializer.element_type, *part); });
}

} // namespace smelt::runtime
