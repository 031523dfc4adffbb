// What follows from given sizes by the guards, what contradicts them, and the choice of the rest.
#include "ir/interpret/size_solver.h"

#include <gtest/gtest.h>

namespace smelt {
namespace {

class SizeSolverTest : public testing::Test {
protected:
  SizeSolverTest() : context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<SmeltDialect>();
  }

  Dim symbol(llvm::StringRef name) { return Dim::symbol(&context, name); }
  Dim number(int64_t value) { return Dim::constant(&context, value); }

  mlir::MLIRContext context;
};

TEST_F(SizeSolverTest, EqualitiesFixTheLastOpenSymbol) {
  SizeSolver solver({{symbol("total"), symbol("past") + symbol("seq"), true, "the mask"},
                     {symbol("rows"), symbol("batch") * symbol("seq"), true, "flattened"}});
  Symbols sizes;
  sizes["total"] = 135;
  sizes["seq"] = 7;
  EXPECT_EQ(solver.follow(sizes), nullptr);
  EXPECT_EQ(sizes.lookup("past"), 128);
  EXPECT_FALSE(sizes.contains("rows")) << "batch and rows are both open";
  sizes["rows"] = 21;
  EXPECT_EQ(solver.follow(sizes), nullptr);
  EXPECT_EQ(sizes.lookup("batch"), 3);
}

TEST_F(SizeSolverTest, NamesTheRelationThatCannotHold) {
  SizeSolver solver({{symbol("rows"), symbol("batch") * symbol("seq"), true, "flattened"},
                     {symbol("seq"), number(512), false, "the table of positions"}});
  Symbols sizes;
  sizes["rows"] = 20;
  sizes["batch"] = 3; // 20 is no multiple of 3
  const SizeRelation *failed = solver.follow(sizes);
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(failed->why, "flattened");
  sizes = {};
  sizes["seq"] = 513;
  failed = solver.follow(sizes);
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(failed->why, "the table of positions");
}

TEST_F(SizeSolverTest, SeesWhatNoSizeMakesTrue) {
  SizeSolver solver({{symbol("past") + symbol("seq"), symbol("total"), false, "the mask"}});
  Symbols sizes;
  sizes["seq"] = 7;
  sizes["total"] = 5;
  EXPECT_NE(solver.follow(sizes), nullptr) << "whatever past is";
  sizes["total"] = 8;
  EXPECT_EQ(solver.follow(sizes), nullptr);
}

TEST_F(SizeSolverTest, NoSizeBecomesNegative) {
  SizeSolver solver({{symbol("total"), symbol("past") + symbol("seq"), true, "the mask"}});
  Symbols sizes;
  sizes["total"] = 5;
  sizes["seq"] = 7;
  EXPECT_NE(solver.follow(sizes), nullptr);
}

// Preferences that contradict the relations give way: a table bounds, sums meet, products divide.
TEST_F(SizeSolverTest, ChoosesWhatTheRelationsAllow) {
  SizeSolver solver({{symbol("past") + symbol("seq"), symbol("total"), false, ""},
                     {symbol("batch"), symbol("masks"), false, ""},
                     {symbol("rows"), symbol("batch") * symbol("seq"), true, ""},
                     {number(600), symbol("long"), false, ""}});
  std::optional<Symbols> sizes = solver.complete({}, {{"total", 2},
                                                      {"past", 3},
                                                      {"seq", 4},
                                                      {"batch", 5},
                                                      {"masks", 2},
                                                      {"rows", 7},
                                                      {"long", 8}});
  ASSERT_TRUE(sizes);
  EXPECT_LE(sizes->lookup("past") + sizes->lookup("seq"), sizes->lookup("total"));
  EXPECT_LE(sizes->lookup("batch"), sizes->lookup("masks"));
  EXPECT_EQ(sizes->lookup("rows"), sizes->lookup("batch") * sizes->lookup("seq"));
  EXPECT_GE(sizes->lookup("long"), 600);
  for (const auto &size : *sizes)
    EXPECT_GE(size.second, 1) << size.first().str();
}

TEST_F(SizeSolverTest, KeepsPreferencesThatFit) {
  SizeSolver solver({{symbol("a"), symbol("b"), false, ""}});
  std::optional<Symbols> sizes = solver.complete({}, {{"a", 2}, {"b", 3}, {"c", 128}});
  ASSERT_TRUE(sizes);
  EXPECT_EQ(sizes->lookup("a"), 2);
  EXPECT_EQ(sizes->lookup("b"), 3);
  EXPECT_EQ(sizes->lookup("c"), 128);
}

TEST_F(SizeSolverTest, FindsNoneWhereThereIsNone) {
  SizeSolver solver(
      {{symbol("a") + 1, symbol("b"), false, ""}, {symbol("b") + 1, symbol("a"), false, ""}});
  EXPECT_FALSE(solver.complete({}, {{"a", 2}, {"b", 3}}));
}

/// Windows over a signal: no relation is linear in its length.
TEST_F(SizeSolverTest, ChoosesFarFromWhatIsPreferred) {
  Dim windows = (symbol("length") - 192).floorDiv(number(256));
  SizeSolver solver({{windows, number(1), true, "one window"}});
  std::optional<Symbols> sizes = solver.complete({}, {{"length", 128}});
  ASSERT_TRUE(sizes);
  EXPECT_EQ(sizes->lookup("length"), 512);
  SizeSolver none({{symbol("length").floorDiv(number(1 << 30)), number(7), true, "too far"}});
  EXPECT_FALSE(none.complete({}, {{"length", 128}}));
}

} // namespace
} // namespace smelt
