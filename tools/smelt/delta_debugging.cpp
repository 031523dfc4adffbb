#include "tools/smelt/delta_debugging.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace smelt::tools {

using Set = std::vector<size_t>;

/// Nearly equal parts, in order.
static std::vector<Set> split(const Set &set, size_t parts) {
  std::vector<Set> result;
  for (size_t i = 0; i < parts; ++i) {
    auto at = [&](size_t part) {
      return set.begin() + static_cast<ptrdiff_t>(set.size() * part / parts);
    };
    result.emplace_back(at(i), at(i + 1));
  }
  return result;
}

static Set without(const Set &set, const Set &part) {
  Set rest;
  std::set_difference(set.begin(), set.end(), part.begin(), part.end(), std::back_inserter(rest));
  return rest;
}

Result<Set> smallestFailing(size_t count, const std::function<Result<bool>(const Set &)> &fails) {
  Set current(count);
  std::iota(current.begin(), current.end(), size_t{0});
  size_t parts = 2;
  while (current.size() >= 2) {
    std::vector<Set> chunks = split(current, parts), tried = chunks;
    if (parts > 2) // of two, one is what the other leaves
      for (const Set &chunk : chunks)
        tried.push_back(without(current, chunk));
    bool isSmaller = false;
    for (size_t i = 0; i < tried.size() && !isSmaller; ++i) {
      SMELT_ASSIGN_OR_RETURN(isSmaller, fails(tried[i]));
      if (isSmaller) {
        parts = i < chunks.size() ? 2 : std::max<size_t>(parts - 1, 2);
        current = tried[i];
      }
    }
    if (!isSmaller && parts >= current.size())
      break;
    if (!isSmaller)
      parts = std::min(2 * parts, current.size());
  }
  return current;
}

} // namespace smelt::tools
