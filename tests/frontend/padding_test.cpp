#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder pad(const std::string &shape, const std::vector<int64_t> &pads,
                 const std::string &mode = "constant", int64_t opset = 20) {
  ModelBuilder model(opset);
  model.input("x", DataType::FLOAT, shape)
      .integers("pads", pads)
      .node("Pad", {"x", "pads"})
      .attribute("mode", mode)
      .output("y");
  return model;
}

TEST(Padding, ConstantsAreConcatenated) {
  expectImports(pad("2 n", {0, 1, 0, 3}).import(),
                {"smelt.expand", "-> <[2, 1], f32>", "smelt.expand", "-> <[2, 3], f32>",
                 "smelt.concat", "axis 1", "-> <[2, n + 4], f32>"});
  expectImports(pad("2 n", {0, 0, 0, 0}).import(), {"return %arg0"});
}

TEST(Padding, NegativeOnesTakeElementsAway) {
  expectImports(pad("5", {-1, -2}).import(), {"starts [#smelt.dim<1>]", "-> <[2], f32>", "return"});
  expectImports(pad("5", {-1, 2}, "edge").import(),
                {"starts [#smelt.dim<1>]", "-> <[4], f32>", "smelt.gather", "-> <[6], f32>"});
  expectFails(pad("2", {-3, 2}).import(), {"needs 3 <= 2", "take away"});
}

TEST(Padding, OtherModesGatherTheirOwnElements) {
  expectImports(pad("2 n", {0, 1, 0, 3}, "reflect").import(),
                {"#smelt.guard<<1> less_equal <n>", "smelt.iota", "smelt.mod", "smelt.min",
                 "smelt.gather", "axis 1", "-> <[2, n + 4], f32>"});
  expectImports(pad("4", {9, 0}, "wrap").import(), {"smelt.mod", "-> <[13], f32>"});
  expectFails(pad("4", {9, 0}, "wrap", 18).import(), {"mode 'wrap' is unknown"});
  expectFails(pad("0 2", {1, 0, 0, 0}, "edge").import(), {"needs 1 <= 0"});
}

TEST(Padding, AxesAndSizesAsPads) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT16, "a b c")
      .input("z", DataType::FLOAT, "m n")
      .integers("axes", {-2})
      .input("fill", DataType::FLOAT16, "")
      .node("Shape", {"z"}, {"pads"})
      .node("Pad", {"x", "pads", "fill", "axes"})
      .output("y");
  expectImports(model.import(), {"-> <[a, m, c], f16>", "-> <[a, n, c], f16>", "smelt.concat",
                                 "-> <[a, b + m + n, c], f16>"});
}

TEST(Padding, UpToAMultiple) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "n")
      .integers("zero", {0})
      .integers("width", {8})
      .node("Shape", {"x"}, {"size"})
      .node("Mod", {"size", "width"}, {"over"})
      .node("Sub", {"width", "over"}, {"short"})
      .node("Mod", {"short", "width"}, {"after"})
      .node("Concat", {"zero", "after"}, {"pads"})
      .attribute("axis", 0)
      .node("Pad", {"x", "pads"})
      .output("y");
  expectImports(model.import(), {"smelt.concat", "mod(n, 8)"});
}

TEST(Padding, BeforeOpset11) {
  ModelBuilder model(10);
  model.input("x", DataType::FLOAT, "n").node("Pad", {"x"}).attribute("value", 2.0f).output("y");
  model.attribute("pads", std::vector<int64_t>{1, 0});
  expectImports(model.import(), {"dense<2.000000e+00>", "-> <[n + 1], f32>"});
}

TEST(Padding, RefusesWhatDoesNotFit) {
  expectFails(pad("2 n", {1, 1}).import(), {"2 pads for 2 axes"});
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "2")
      .input("pads", DataType::INT64, "2")
      .node("Pad", {"x", "pads"})
      .output("y");
  expectFails(model.import(), {"the list of pads", "depends on the data"});
}

TEST(Padding, CentersWhatItCropsOrPads) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "7 4 n")
      .integers("shape", {4, 7, 6})
      .node("CenterCropPad", {"x", "shape"})
      .output("y");
  expectImports(model.import(),
                {"starts [#smelt.dim<1>", "-> <[4, 4, n], f32>", "-> <[4, 1, n], f32>",
                 "-> <[4, 2, n], f32>", "-> <[4, 7, n], f32>", "min(", "-> <[4, 7, 6], f32>"});
}

/// As PyTorch exports pads: pairs in reverse order, turned into all starts, then all ends.
TEST(Padding, PadsThroughAReversedTable) {
  ModelBuilder model(17);
  model.input("x", DataType::FLOAT, "batch 5").output("y");
  model.integers("pairs", {1, 2, 0, 3}).integers("table", {-1, 2}).integers("list", {-1});
  model.integers("first", {-1}).integers("end", {std::numeric_limits<int64_t>::min()});
  model.integers("axis", {0}).integers("back", {-1});
  model.node("Reshape", {"pairs", "table"}, {"rows"});
  model.node("Slice", {"rows", "first", "end", "axis", "back"}, {"reversed"});
  model.node("Transpose", {"reversed"}, {"columns"});
  model.node("Reshape", {"columns", "list"}, {"pads"}).node("Pad", {"x", "pads"});
  expectImports(model.import(), {"-> <[batch + 3, 8], f32>"});
}

} // namespace
} // namespace smelt::test
