#include "tools/smelt/repeats.h"

#include <algorithm>
#include <cctype>

namespace smelt::tools {

static constexpr size_t kLongestPeriod = 256;

/// How often the `period` items at `first` follow each other.
static size_t countRepeats(const std::vector<std::string> &items, size_t first, size_t period) {
  size_t same = first; // items[first..same) equal those a period later
  while (same + period < items.size() && items[same] == items[same + period])
    ++same;
  return (same - first) / period + 1;
}

std::vector<Repeat> foldRepeats(const std::vector<std::string> &items) {
  std::vector<Repeat> folded;
  for (size_t first = 0; first < items.size();) {
    Repeat best{first, 1, 1};
    size_t longest = std::min(kLongestPeriod, (items.size() - first) / 2);
    for (size_t period = 1; period <= longest; ++period) {
      size_t count = countRepeats(items, first, period);
      if (count > 1 && count * period > best.count * best.period)
        best = {first, period, count};
    }
    folded.push_back(best);
    first += best.period * best.count;
  }
  return folded;
}

std::string withoutNumbers(const std::string &text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    bool isDigit = std::isdigit(static_cast<unsigned char>(text[i]));
    bool continues = i > 0 && std::isdigit(static_cast<unsigned char>(text[i - 1]));
    if (!isDigit)
      result += text[i];
    else if (!continues)
      result += '*';
  }
  return result;
}

} // namespace smelt::tools
