#include "tools/smelt/repeats.h"

#include <gtest/gtest.h>

namespace smelt::tools {
namespace {

/// "a (bc)*2 d"
std::string folded(const std::string &letters) {
  std::vector<std::string> items;
  for (char letter : letters)
    items.emplace_back(1, letter);
  std::string text;
  for (const Repeat &repeat : foldRepeats(items)) {
    std::string part = letters.substr(repeat.first, repeat.period);
    text += repeat.count == 1 ? part : "(" + part + ")*" + std::to_string(repeat.count);
  }
  return text;
}

TEST(Repeats, AreFoldedWhereTheyStand) {
  EXPECT_EQ(folded(""), "");
  EXPECT_EQ(folded("a"), "a");
  EXPECT_EQ(folded("aa"), "(a)*2");
  EXPECT_EQ(folded("xabcabcabcy"), "x(abc)*3y");
  EXPECT_EQ(folded("abaabaab"), "(aba)*2ab");
}

TEST(Repeats, OfRepeatsAreTheMostThatTheyCover) {
  EXPECT_EQ(folded("aabaab"), "(aab)*2"); // and not (a)*2
  EXPECT_EQ(folded("aaaa"), "(a)*4");     // and not (aa)*2
}

TEST(Repeats, CoverEverything) {
  std::vector<std::string> items;
  for (int layer = 0; layer < 12; ++layer)
    for (const char *kernel : {"qkv", "attention", "projection", "up", "down"})
      items.emplace_back(kernel);
  items.insert(items.begin(), "embedding");
  items.emplace_back("head");
  std::vector<Repeat> repeats = foldRepeats(items);
  ASSERT_EQ(repeats.size(), 3u);
  EXPECT_EQ(repeats[1].first, 1u);
  EXPECT_EQ(repeats[1].period, 5u);
  EXPECT_EQ(repeats[1].count, 12u);
}

TEST(Numbers, AreAllAlike) {
  EXPECT_EQ(withoutNumbers("/layer.12/MatMul_1"), "/layer.*/MatMul_*");
  EXPECT_EQ(withoutNumbers("7"), "*");
  EXPECT_EQ(withoutNumbers("none"), "none");
}

} // namespace
} // namespace smelt::tools
