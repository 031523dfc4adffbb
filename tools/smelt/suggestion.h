// What a mistyped word was meant to be.
#pragma once

#include <string>
#include <vector>

namespace smelt::tools {

/// The candidate that the fewest edits make of the word; "" where more than every third letter, or all,
/// would change.
std::string nearest(const std::string &word, const std::vector<std::string> &candidates);

} // namespace smelt::tools
