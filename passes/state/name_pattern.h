// Names with one wildcard: `past_key_values.*` for the caches of all layers.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace smelt::passes {

/// What the * of `pattern` stands for in `name`, empty where it has none; none where they differ.
inline std::optional<llvm::StringRef> matchPattern(llvm::StringRef pattern, llvm::StringRef name) {
  if (!pattern.contains('*'))
    return pattern == name ? std::optional<llvm::StringRef>("") : std::nullopt;
  auto [before, after] = pattern.split('*');
  bool fits = name.size() >= before.size() + after.size() && name.starts_with(before) &&
              name.ends_with(after);
  return fits ? std::optional(name.drop_front(before.size()).drop_back(after.size()))
              : std::nullopt;
}

/// `pattern` with `part` for its *.
inline std::string fillPattern(llvm::StringRef pattern, llvm::StringRef part) {
  if (!pattern.contains('*'))
    return pattern.str();
  auto [before, after] = pattern.split('*');
  return (before + part + after).str();
}

} // namespace smelt::passes
