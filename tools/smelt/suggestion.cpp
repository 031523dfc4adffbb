#include "tools/smelt/suggestion.h"

#include "llvm/ADT/StringRef.h"

#include <algorithm>

namespace smelt::tools {

std::string nearest(const std::string &word, const std::vector<std::string> &candidates) {
  constexpr size_t kLettersPerEdit = 3;
  size_t most = (word.size() + 2) / kLettersPerEdit;
  size_t fewest = std::min(most + 1, word.size());
  std::string found;
  for (const std::string &candidate : candidates) {
    size_t edits = llvm::StringRef(word).edit_distance(candidate);
    if (edits >= fewest)
      continue;
    fewest = edits;
    found = candidate;
  }
  return found;
}

} // namespace smelt::tools
