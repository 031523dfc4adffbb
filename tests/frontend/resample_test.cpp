#include "frontend/ops/resample.h"

#include "tests/frontend/formula_fixture.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

using namespace frontend;
using Numbers = std::vector<double>;

Numbers read(const Numbers &input, const Numbers &positions, const Resampling &resampling) {
  FormulaFixture graph;
  Expression at(graph.build(), graph.numbers(positions));
  return graph.evaluated(resample(graph.build(), graph.numbers(input), 0, at, resampling));
}

Resampling nearest(Nearest rule) {
  Resampling resampling;
  resampling.nearest = rule;
  return resampling;
}

TEST(Resample, NearestNeighboursByEachRule) {
  const Numbers input{10, 11, 12, 13}, positions{-3, 0.5, 1, 1.25, 1.5, 1.75, 9};
  EXPECT_EQ(read(input, positions, nearest(Nearest::preferFloor)),
            Numbers({10, 10, 11, 11, 11, 12, 13}));
  EXPECT_EQ(read(input, positions, nearest(Nearest::preferCeil)),
            Numbers({10, 11, 11, 11, 12, 12, 13}));
  EXPECT_EQ(read(input, positions, nearest(Nearest::floor)), Numbers({10, 10, 11, 11, 11, 11, 13}));
  EXPECT_EQ(read(input, positions, nearest(Nearest::ceil)), Numbers({10, 11, 11, 12, 12, 12, 13}));
}

TEST(Resample, LinesBetweenNeighbours) {
  Resampling linear;
  linear.mode = Interpolation::linear;
  EXPECT_EQ(read({0, 2, 8}, {-1, 0, 0.25, 1.5, 2, 2.5}, linear), Numbers({0, 0, 0.5, 5, 8, 8}));
  linear.excludesOutside = true;
  EXPECT_EQ(read({1, 2}, {-0.5, 1.5}, linear), Numbers({1, 2}));
}

TEST(Resample, AStretchedFilterAveragesWhatItPasses) {
  Resampling linear;
  linear.mode = Interpolation::linear;
  linear.filterScale = 0.25;
  EXPECT_EQ(read(Numbers(9, 3), {1.5, 5.5}, linear), Numbers({3, 3}));
}

TEST(Resample, CubicsReproduceLines) {
  Resampling cubic;
  cubic.mode = Interpolation::cubic;
  cubic.cubicCoefficient = -0.5;
  EXPECT_EQ(read({0, 1, 2, 3, 4}, {1, 1.5, 2.25}, cubic), Numbers({1, 1.5, 2.25}));
}

TEST(Resample, IntegersAreRoundedAndStayInRange) {
  FormulaFixture graph;
  GraphBuilder &build = graph.build();
  mlir::Type i8 = mlir::IntegerType::get(build.getContext(), 8);
  EXPECT_EQ(graph.evaluated(backTo(build, graph.numbers({-200, -1.5, 2.5, 127.6}), i8)),
            Numbers({-128, -2, 2, 127}));
}

} // namespace
} // namespace smelt::test
