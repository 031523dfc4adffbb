#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder withList(const std::string &op, const std::string &shape,
                      const std::vector<int64_t> &list, int64_t opset = 20) {
  ModelBuilder model(opset);
  model.input("x", DataType::FLOAT, shape)
      .integers("list", list)
      .node(op, {"x", "list"})
      .output("y");
  return model;
}

TEST(Shape, ReshapeKeepsAndInfers) {
  expectImports(withList("Reshape", "batch seq 12", {0, 0, 3, -1}).import(),
                {"-> <[batch, seq, 3, 4], f32>"});
  expectImports(withList("Reshape", "batch seq 12", {-1, 12}).import(),
                {"-> <[batch*seq, 12], f32>"});
  expectImports(withList("Reshape", "0 4", {3, 0}).attribute("allowzero", 1).import(),
                {"-> <[3, 0], f32>"});
}

TEST(Shape, ReshapeGuardsWhatItCannotProve) {
  expectImports(withList("Reshape", "n", {-1, 3}).import(),
                {"#smelt.guard<<3*floordiv(n, 3)> equal <n>", "-> <[floordiv(n, 3), 3], f32>"});
}

TEST(Shape, ReshapeRefusesWhatDoesNotFit) {
  expectFails(withList("Reshape", "2 3", {5}).import(), {"needs 5 = 6"});
  expectFails(withList("Reshape", "2 3", {-1, -1}).import(), {"two open dimensions"});
  expectFails(withList("Reshape", "2 3", {-2, 3}).import(), {"negative dimension"});
  expectFails(withList("Reshape", "2 3", {1, 1, 0}).import(), {"keeps axis 2"});
  ModelBuilder data;
  data.input("x", DataType::FLOAT, "6")
      .input("s", DataType::INT64, "2")
      .node("Reshape", {"x", "s"})
      .output("y");
  expectFails(data.import(),
              {"the target shape, 's' (int64 [2]), depends on the data of an input"});
}

TEST(Shape, TransposeReversesByDefault) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "a b c").node("Transpose", {"x"}).output("y");
  expectImports(model.import(), {"smelt.transpose %arg0 [2, 1, 0]"});
  model.attribute("perm", std::vector<int64_t>{0, 0, 1});
  expectFails(model.import(), {"every axis"});
}

TEST(Shape, SqueezeAndUnsqueezeInBothForms) {
  expectImports(withList("Squeeze", "1 n 1", {-1}).import(), {"-> <[1, n], f32>"});
  expectImports(withList("Unsqueeze", "n", {0, -1}).import(), {"-> <[1, n, 1], f32>"});
  ModelBuilder old(11);
  old.input("x", DataType::FLOAT, "n 1")
      .node("Squeeze", {"x"})
      .attribute("axes", std::vector<int64_t>{1})
      .output("y");
  expectImports(old.import(), {"-> <[n], f32>"});
  ModelBuilder all;
  all.input("x", DataType::FLOAT, "1 n 1").node("Squeeze", {"x"}).output("y");
  expectImports(all.import(), {"-> <[n], f32>"});
  expectFails(withList("Squeeze", "2 n", {0}).import(), {"needs 2 = 1"});
  expectImports(withList("Squeeze", "batch n", {0}).import(),
                {"%arg0: !smelt.tensor<[1, n], f32>"});
}

TEST(Shape, ExpandGoesBothWays) {
  expectImports(withList("Expand", "n 1", {2, 1, 3}).import(),
                {"smelt.expand", "-> <[2, n, 3], f32>"});
  expectImports(withList("Expand", "3", {1}).import(), {"return %arg0"});
  expectFails(withList("Expand", "3", {2}).import(), {"cannot be expanded to [2]"});
}

TEST(Shape, FlattenSplitsAtItsAxis) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "a b 4")
      .node("Flatten", {"x"})
      .attribute("axis", -1)
      .output("y");
  expectImports(model.import(), {"-> <[a*b, 4], f32>"});
}

TEST(Shape, ConcatAlignsTheOtherAxes) {
  ModelBuilder model;
  model.input("a", DataType::FLOAT, "m 3")
      .input("b", DataType::FLOAT, "n 4")
      .node("Concat", {"a", "b"})
      .attribute("axis", 1);
  model.output("y");
  expectImports(model.import(),
                {"%arg1: !smelt.tensor<[m, 4], f32>", "smelt.concat", "-> <[m, 7], f32>"});
}

TEST(Shape, TileRepeats) {
  expectImports(withList("Tile", "n 3", {2, 1}).import(),
                {"smelt.reshape", "[1, n, 3]", "smelt.expand", "[2, n, 3]", "smelt.reshape",
                 "-> <[2*n, 3], f32>"});
  expectFails(withList("Tile", "n 3", {2}).import(), {"1 repeats"});
  expectFails(withList("Tile", "n", {-2}).import(), {"repeats are not negative"});
}

TEST(Shape, DropoutPassesThrough) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "n")
      .node("Dropout", {"x"}, {"y", "mask"})
      .output("y")
      .output("mask");
  expectImports(model.import(), {"dense<true>", "smelt.expand", "return %arg0"});
}

TEST(Shape, RefusesATargetWhoseProductWrapsAround) {
  ModelBuilder model(17);
  model.input("x", DataType::FLOAT, "2 3 4").output("y");
  model.integers("shape", {4, -1, std::numeric_limits<int64_t>::max()});
  expectFails(model.node("Reshape", {"x", "shape"}).import(), {"beyond what can be counted"});
}

} // namespace
} // namespace smelt::test
