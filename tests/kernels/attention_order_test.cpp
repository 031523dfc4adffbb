// kernels/attention/attention_order.cuh on the host: every tile has one place in the order; blocks that take every n-th
// of causal tiles have about as much to do; the keys of heads that are at work together fit in L2.
#include "kernels/attention/attention_order.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

namespace smelt {
namespace {

constexpr int kMultiprocessors = 132, kRows = 128, kElementBytes = 2;

/// Attention of `heads` heads in all, `sharing` of which read the same keys.
struct Case {
  int heads, queries, keys, headSize, sharing;

  int rows() const { return (queries + kRows - 1) / kRows; }
  int tiles() const { return heads * rows(); }
  int keyBytes() const { return 2 * headSize * kElementBytes; }
  AttentionOrder order() const { return {rows(), heads, keys, keyBytes(), sharing}; }
  /// Steps of keys that a causal row of tiles takes, and one for what a tile costs in any case.
  int costOf(int row) const { return (std::min((row + 1) * kRows, keys) + 127) / 128 + 1; }
};

std::vector<Case> allCases() {
  std::vector<Case> cases;
  for (int keyHeads : {1, 2, 3, 8, 14, 37, 256})
    for (int sharing : {1, 4, 7})
      for (int queries : {1, 77, 197, 512, 1500, 4096, 16384})
        for (int headSize : {64, 128})
          cases.push_back({keyHeads * sharing, queries, queries, headSize, sharing});
  return cases;
}

/// What the block with most to do has, as a multiple of the mean.
template <class RowAt> double imbalance(const Case &c, RowAt rowAt) {
  std::vector<double> work(std::min(c.tiles(), kMultiprocessors));
  for (int index = 0; index < c.tiles(); ++index)
    work[index % work.size()] += c.costOf(rowAt(index));
  double sum = std::accumulate(work.begin(), work.end(), 0.0);
  return *std::max_element(work.begin(), work.end()) * work.size() / sum;
}

TEST(AttentionOrder, EveryTileHasOnePlace) {
  std::vector<Case> cases = allCases();
  cases.push_back({6, 300, 0, 64, 1});       // no keys
  cases.push_back({6, 300, 1 << 28, 64, 1}); // more than there is memory for
  for (const Case &c : cases) {
    std::vector<int> taken(c.tiles());
    for (int index = 0; index < c.tiles(); ++index) {
      AttentionOrder::Place place = c.order().at(index);
      ASSERT_TRUE(place.head >= 0 && place.head < c.heads && place.row >= 0 &&
                  place.row < c.rows());
      ++taken[place.head * c.rows() + place.row];
    }
    EXPECT_EQ(std::count(taken.begin(), taken.end(), 1), c.tiles())
        << c.heads << " heads, " << c.queries << " queries";
  }
}

TEST(AttentionOrder, BlocksShareTheWorkEvenly) {
  for (const Case &c : allCases()) {
    double longestFirst = imbalance(c, [&](int index) { return c.rows() - 1 - index / c.heads; });
    double actual = imbalance(c, [&](int index) { return c.order().at(index).row; });
    EXPECT_LE(actual, 1.05 * longestFirst) << c.heads << " heads, " << c.queries << " queries";
    if (c.tiles() >= 8 * kMultiprocessors && c.heads > 3)
      EXPECT_LE(actual, 1.1) << c.heads << " heads, " << c.queries << " queries";
  }
}

TEST(AttentionOrder, KeysOfHeadsAtWorkTogetherFitInL2) {
  constexpr int64_t kMostBytes = 17 << 20;
  for (const Case &c : allCases()) {
    // Key heads between the first and the last tile that reads those of each.
    std::vector<int> first(c.heads / c.sharing, -1), last(first);
    for (int index = 0; index < c.tiles(); ++index) {
      int keyHead = c.order().at(index).head / c.sharing;
      first[keyHead] = first[keyHead] < 0 ? index : first[keyHead];
      last[keyHead] = index;
    }
    int64_t headBytes = int64_t(c.keys) * c.keyBytes();
    for (size_t i = 0; i < first.size(); i += std::max<size_t>(1, first.size() / 5)) {
      std::set<int> between;
      for (int index = first[i]; index <= last[i]; ++index)
        between.insert(c.order().at(index).head / c.sharing);
      size_t sections = c.sharing > 1 ? 2 : 1; // those that a group of heads may lie in
      EXPECT_LE(int64_t(between.size() / sections) * headBytes, std::max(kMostBytes, headBytes))
          << c.heads << " heads, " << c.queries << " queries, head " << i;
    }
  }
}

TEST(AttentionOrder, RowsFromBothEndsAreAllRowsAndTilesAreAsLong) {
  constexpr int kGroupRows = kRows / 2;
  for (int tiles : {1, 2, 3, 4, 12}) {
    std::vector<int> taken(2 * tiles);
    for (int tile = 0; tile < tiles; ++tile) {
      int sum = 0;
      for (int group : {0, 1}) {
        int row = AttentionOrder::rowFromBothEnds(tile * kRows, group, kGroupRows, tiles * kRows);
        ASSERT_TRUE(row % kGroupRows == 0 && row >= 0 && row < tiles * kRows);
        ++taken[row / kGroupRows];
        sum += row;
      }
      EXPECT_EQ(sum, tiles * kRows - kGroupRows);
    }
    EXPECT_EQ(std::count(taken.begin(), taken.end(), 1), 2 * tiles);
  }
}

} // namespace
} // namespace smelt
