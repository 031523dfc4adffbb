#include "codegen/shallow_json.h"

#include <gtest/gtest.h>

namespace smelt::codegen {
namespace {

std::string errorOf(const std::string &text) {
  llvm::Expected<llvm::json::Value> value = parseShallowJson(text);
  return value ? "" : llvm::toString(value.takeError());
}

std::string nested(size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(ShallowJson, ReadsWhatNestsAsDeepAsItMay) {
  EXPECT_EQ(errorOf(nested(64)), "");
  EXPECT_EQ(errorOf(nested(65)), "brackets nest more than 64 deep");
  EXPECT_EQ(errorOf(R"({"a": [{"b": 1}]})"), "");
}

TEST(ShallowJson, CountsNoBracketsInStrings) {
  EXPECT_EQ(errorOf("\"" + std::string(1000, '[') + "\\\"" + std::string(1000, '{') + "\""), "");
}

TEST(ShallowJson, NothingHidesDepth) {
  std::string deep(100000, '['), closers(100000, ']');
  for (const std::string &text : {"\"" + closers + "\"" + deep, closers + deep, R"("\\")" + deep,
                                  R"({"a": "]\"", "b": )" + deep})
    EXPECT_EQ(errorOf(text), "brackets nest more than 64 deep");
}

TEST(ShallowJson, SaysWhatTheParserSays) {
  EXPECT_NE(errorOf("[1, ]"), "");
  EXPECT_NE(errorOf("\"\\"), "");
  EXPECT_NE(errorOf(""), "");
}

} // namespace
} // namespace smelt::codegen
