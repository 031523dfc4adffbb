#include "frontend/ops/expression.h"

#include "tests/frontend/formula_fixture.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

using frontend::Expression;
using Numbers = std::vector<double>;

TEST(Expression, OperatorsComputeElementwise) {
  FormulaFixture graph;
  Expression x(graph.build(), graph.numbers({-2, 0.5, 4}));
  EXPECT_EQ(graph.evaluated((1 - x * 2 / 4 + x).value()), Numbers({0, 1.25, 3}));
  EXPECT_EQ(graph.evaluated(select(x < 1, abs(x), floor(x - 0.5)).value()), Numbers({2, 0.5, 3}));
}

TEST(Expression, SizesAreExact) {
  FormulaFixture graph;
  mlir::Type f64 = mlir::Float64Type::get(graph.build().getContext());
  EXPECT_EQ(graph.evaluated(sizeAs(graph.build(), graph.build().size(7), f64).value()),
            Numbers({7}));
  EXPECT_EQ(graph.evaluated(countTo(graph.build(), graph.build().size(3), f64).value()),
            Numbers({0, 1, 2}));
}

TEST(Expression, NullMakesNull) {
  FormulaFixture graph;
  Expression nothing(graph.build(), {});
  EXPECT_FALSE((nothing * 2 + nothing).value());
}

TEST(Expression, CubicWeightsVanishAtOtherElements) {
  FormulaFixture graph;
  Expression distances(graph.build(), graph.numbers({0, 0.5, 1, 1.5, 2, 3}));
  EXPECT_EQ(graph.evaluated(cubicWeight(distances, -0.5).value()),
            Numbers({1, 0.5625, 0, -0.0625, 0, 0}));
}

} // namespace
} // namespace smelt::test
