#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

#include <limits>

namespace smelt::test {
namespace {

constexpr int64_t kLast = std::numeric_limits<int64_t>::max(),
                  kFirst = std::numeric_limits<int64_t>::min();

ModelBuilder slice(const std::string &shape, int64_t start, int64_t end, int64_t step = 1) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, shape)
      .integers("start", {start})
      .integers("end", {end})
      .integers("axis", {-1});
  model.integers("step", {step}).node("Slice", {"x", "start", "end", "axis", "step"}).output("y");
  return model;
}

TEST(Slice, ClampsItsBounds) {
  expectImports(slice("10", 2, kLast).import(), {"starts [#smelt.dim<2>]", "-> <[8], f32>"});
  expectImports(slice("10", -3, 100).import(), {"starts [#smelt.dim<7>]", "-> <[3], f32>"});
  expectImports(slice("10", -100, -8).import(), {"starts [#smelt.dim<0>]", "-> <[2], f32>"});
  expectImports(slice("10", 8, 3).import(), {"-> <[0], f32>"});
  expectImports(slice("10", 0, kLast).import(), {"return %arg0"});
}

TEST(Slice, StepsBothWays) {
  expectImports(slice("10", 1, kLast, 3).import(), {"steps [3]", "-> <[3], f32>"});
  expectImports(slice("10", kLast, kFirst, -1).import(),
                {"starts [#smelt.dim<9>]", "steps [-1]", "-> <[10], f32>"});
  expectImports(slice("10", -2, 0, -3).import(), {"starts [#smelt.dim<8>]", "-> <[3], f32>"});
  expectFails(slice("10", 0, 5, 0).import(), {"its step must not be 0"});
}

TEST(Slice, OfSymbolicAxes) {
  expectImports(slice("seq", 0, 1).import(), {"-> <[1], f32>"});
  expectImports(slice("seq", -1, kLast).import(),
                {"starts [#smelt.dim<seq - 1>]", "-> <[1], f32>"});
  expectImports(slice("seq", 0, 4).import(), {"-> <[min(4, seq)], f32>"});
  expectImports(slice("seq", kLast, kFirst, -1).import(),
                {"starts [#smelt.dim<seq - 1>]", "steps [-1]", "-> <[seq], f32>"});
}

TEST(Slice, BeforeOpset10) {
  ModelBuilder model(9);
  model.input("x", DataType::FLOAT, "4 n").node("Slice", {"x"}).output("y");
  model.attribute("starts", std::vector<int64_t>{1}).attribute("ends", std::vector<int64_t>{3});
  expectImports(model.import(), {"-> <[2, n], f32>"});
}

TEST(Slice, RefusesListsOfDifferentLengths) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "4 n")
      .integers("a", {0})
      .integers("b", {1, 2})
      .node("Slice", {"x", "a", "b"})
      .output("y");
  expectFails(model.import(), {"1 starts, 2 ends"});
}

ModelBuilder split(const std::string &shape, int64_t opset) {
  ModelBuilder model(opset);
  model.input("x", DataType::FLOAT, shape).node("Split", {"x"}, {"a", "b"}).output("a").output("b");
  return model;
}

TEST(Slice, SplitsEvenlyOrAsTold) {
  expectImports(split("6", 13).import(),
                {"-> <[3], f32>", "starts [#smelt.dim<3>]", "-> <[3], f32>"});
  expectImports(split("7", 18).attribute("num_outputs", 2).import(),
                {"-> <[4], f32>", "-> <[3], f32>"});
  expectFails(split("7", 13).import(), {"equal parts"});
  expectImports(split("7", 11).attribute("split", std::vector<int64_t>{2, 5}).import(),
                {"-> <[2], f32>", "-> <[5], f32>"});
  expectFails(split("7", 11).attribute("split", std::vector<int64_t>{2, 6}).import(),
              {"needs 8 = 7"});
  expectFails(split("7", 11).attribute("split", std::vector<int64_t>{7}).import(),
              {"1 parts and 2 outputs"});
}

} // namespace
} // namespace smelt::test
