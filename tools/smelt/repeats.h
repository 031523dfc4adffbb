// Runs of the same things over and over, as a model's layers are, for tables that name each once.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace smelt::tools {

/// `period` items from `first` on, which stand there `count` times in a row.
struct Repeat {
  size_t first;
  size_t period;
  size_t count;
};

/// Covers all items in order. What repeats is folded where it stands, the most items first; the others come one by one.
std::vector<Repeat> foldRepeats(const std::vector<std::string> &items);

/// The text with each number in it as "*": "/layer.3/MatMul" is "/layer.*/MatMul".
std::string withoutNumbers(const std::string &text);

} // namespace smelt::tools
