// Scatters, update by update; indices outside the axis are errors.
#include "tests/ir/interpret/interpret_test.h"
#include "tests/ir/interpret/reference.h"

namespace smelt::test {
namespace {

double combined(const std::string &by, double old, double update) {
  if (by == "sum")
    return old + update;
  if (by == "prod")
    return old * update;
  if (by == "max")
    return std::max(old, update);
  return by == "min" ? std::min(old, update) : update;
}

class ScatterTest : public InterpretTest {
protected:
  static std::string suffix(const std::string &by) { return by.empty() ? "" : " by " + by; }
};

TEST_F(ScatterTest, ElementsOfRepeatedIndicesInOrder) {
  HostTensor data = random({3, 5}, "f32", 1), updates = random({3, 7}, "f32", 2),
             indices = random({3, 7}, "i64", 3, {-5, 5});
  for (const std::string by : {"", "sum", "prod", "max", "min"}) {
    HostTensor result = runOp("smelt.scatter_elements %a, %b, %c axis 1" + suffix(by) +
                                  " : <[3, 5], f32>, <[3, 7], i64>, <[3, 7], f32> -> <[3, 5], f32>",
                              {"[3, 5], f32", "[3, 7], i64", "[3, 7], f32"}, "[3, 5], f32",
                              {data, indices, updates});
    Array expected(data), positions(indices), values(updates);
    Array::forEach(positions.shape, [&](const Index &at) {
      auto position = static_cast<int64_t>(positions.at(at));
      double &old = expected.at({at[0], position < 0 ? position + 5 : position});
      old = combined(by, old, values.at(at));
    });
    expectNear(result, expected.values, 1e-6);
  }
}

TEST_F(ScatterTest, SlicesOfRepeatedIndicesInOrder) {
  HostTensor data = random({4, 3, 2}, "f32", 4), updates = random({6, 2}, "f32", 5),
             indices = random({6, 2}, "i64", 6, {-3, 3});
  for (const std::string by : {"", "sum", "max"}) {
    HostTensor result =
        runOp("smelt.scatter_nd %a, %b, %c" + suffix(by) +
                  " : <[4, 3, 2], f32>, <[6, 2], i64>, <[6, 2], f32> -> <[4, 3, 2], f32>",
              {"[4, 3, 2], f32", "[6, 2], i64", "[6, 2], f32"}, "[4, 3, 2], f32",
              {data, indices, updates});
    Array expected(data), positions(indices), values(updates);
    Array::forEach(values.shape, [&](const Index &at) {
      auto row = static_cast<int64_t>(positions.at({at[0], 0})),
           column = static_cast<int64_t>(positions.at({at[0], 1}));
      double &old = expected.at({row < 0 ? row + 4 : row, column < 0 ? column + 3 : column, at[1]});
      old = combined(by, old, values.at(at));
    });
    expectNear(result, expected.values, 1e-6);
  }
}

TEST_F(ScatterTest, IntegersWrapAround) {
  HostTensor result =
      runOp("smelt.scatter_elements %a, %b, %c axis 0 by sum : <[2], i8>, <[2], i64>, <[2], i8> -> "
            "<[2], i8>",
            {"[2], i8", "[2], i64", "[2], i8"}, "[2], i8",
            {integers({2}, {100, 1}, "i8"), integers({2}, {0, 0}), integers({2}, {100, 57}, "i8")});
  expectNear(result, {1, 1}, 0);
}

TEST_F(ScatterTest, AnIndexOutsideTheAxisIsAnError) {
  EXPECT_FALSE(
      runOp("smelt.scatter_elements %a, %b, %c axis 0 : <[3], f32>, <[1], i64>, <[1], f32> "
            "-> <[3], f32>",
            {"[3], f32", "[1], i64", "[1], f32"}, "[3], f32",
            {random({3}, "f32", 1), integers({1}, {3}), random({1}, "f32", 2)}));
  EXPECT_NE(errors.find("index 3 is outside axis 0 of size 3"), std::string::npos) << errors;
  EXPECT_FALSE(
      runOp("smelt.scatter_nd %a, %b, %c : <[3], f32>, <[1], i64>, <[], f32> -> <[3], f32>",
            {"[3], f32", "[1], i64", "[], f32"}, "[3], f32",
            {random({3}, "f32", 1), integers({1}, {-4}), random({}, "f32", 2)}));
  EXPECT_NE(errors.find("index -4 is outside axis 0 of size 3"), std::string::npos) << errors;
}

} // namespace
} // namespace smelt::test
