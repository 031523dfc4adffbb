// tools/smelt/delta_debugging: what is left fails, and nothing of it can be left out.
#include "tools/smelt/delta_debugging.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace smelt;
using namespace smelt::tools;

namespace {

using Set = std::vector<size_t>;

/// What is left of `count` things that fail where all of `culprits` are among them.
Set reduced(size_t count, const Set &culprits, size_t *tries = nullptr) {
  auto left = smallestFailing(count, [&](const Set &set) -> Result<bool> {
    EXPECT_TRUE(std::ranges::is_sorted(set) && !set.empty());
    if (tries)
      ++*tries;
    return std::ranges::includes(set, culprits);
  });
  EXPECT_TRUE(left.isOk());
  return *left;
}

TEST(DeltaDebugging, FindsWhatFailsTogether) {
  for (const Set &culprits : {Set{0}, Set{99}, Set{41}, Set{3, 4}, Set{0, 99}, Set{10, 50, 51, 90}})
    EXPECT_EQ(reduced(100, culprits), culprits);
  EXPECT_EQ(reduced(1, {0}), Set{0});
  EXPECT_EQ(reduced(3, {0, 1, 2}), (Set{0, 1, 2}));
}

TEST(DeltaDebugging, TriesFewForOneCulprit) {
  size_t tries = 0;
  EXPECT_EQ(reduced(1024, {777}, &tries), Set{777});
  EXPECT_LE(tries, 20u);
}

TEST(DeltaDebugging, PassesOnWhatFails) {
  auto left = smallestFailing(
      4, [](const Set &) -> Result<bool> { return Status(StatusCode::kResources, "no room"); });
  EXPECT_EQ(left.status().code(), StatusCode::kResources);
}

} // namespace
