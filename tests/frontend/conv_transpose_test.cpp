#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

using List = std::vector<int64_t>;

ModelBuilder transposed(const std::string &shape, const std::string &filter) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, shape)
      .input("w", DataType::FLOAT, filter)
      .node("ConvTranspose", {"x", "w"})
      .output("y");
  return model;
}

TEST(ConvTranspose, ConvolvesTheSpreadInputWithTheTurnedFilter) {
  expectImports(transposed("n 4 h", "4 6 3").attribute("strides", List{2}).import(),
                {"smelt.concat", "-> <[n, 4, 2*h - 1], f32>", "[0, 2, 1, 3]", "steps [1, 1, -1]",
                 "smelt.conv", "pads = array<i64: 2, 2>", "-> <[n, 6, 2*h + 1], f32>"});
  expectImports(
      transposed("n 4 h", "4 3 3").attribute("group", 2).attribute("pads", List{3, 1}).import(),
      {"steps [1, 1, 1]", "smelt.conv", "groups = 2", "pads = array<i64: 0, 1>",
       "-> <[n, 6, h - 2], f32>"});
}

TEST(ConvTranspose, BlocksThatDoNotMeetAreOneProduct) {
  expectImports(
      transposed("n 4 h w", "4 6 2 2").attribute("strides", List{2, 2}).import(),
      {"smelt.matmul", "-> <[n, 24, h*w], f32>", "smelt.transpose", "-> <[n, 6, 2*h, 2*w], f32>"});
}

TEST(ConvTranspose, OutputShapeAndAutomaticPads) {
  expectImports(transposed("1 1 3", "1 1 3")
                    .attribute("strides", List{2})
                    .attribute("output_shape", List{6})
                    .import(),
                {"-> <[1, 1, 6], f32>"});
  expectImports(transposed("1 1 n", "1 1 3")
                    .attribute("strides", List{2})
                    .attribute("auto_pad", "SAME_UPPER")
                    .import(),
                {"pads = array<i64: 2, 1>", "-> <[1, 1, 2*n], f32>"});
  expectFails(transposed("1 1 n", "1 1 3").attribute("output_shape", List{6}).import(),
              {"an output_shape with sizes that vary is not supported"});
}

TEST(ConvTranspose, RefusesWhatDoesNotFit) {
  expectFails(transposed("n 4 h", "3 6 3").import(), {"needs 4 = 3"});
  expectFails(transposed("n 4 h", "4 6 k").import(), {"is not supported"});
  expectFails(transposed("n 4 h", "4 6 3").attribute("group", 3).import(),
              {"cannot have 3 groups"});
  expectFails(transposed("n 4 h", "4 6 3").attribute("strides", List{0}).import(),
              {"'strides' must hold 1 values of at least 1"});
}

TEST(ConvTranspose, ColumnsAddUpToAnImage) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "n 8 9")
      .integers("image", {4, 4})
      .integers("block", {2, 2})
      .node("Col2Im", {"x", "image", "block"})
      .output("y");
  expectImports(model.import(),
                {"-> <[n, 8, 3, 3], f32>", "smelt.conv", "groups = 2", "-> <[n, 2, 4, 4], f32>"});
  model.attribute("strides", List{2, 2});
  expectFails(model.import(), {"needs 9 = 4", "a column for each block"});
}

TEST(ConvTranspose, RefusesImagesOfNoSize) {
  for (int64_t size : {INT64_MIN, int64_t{-1}, int64_t{0}, INT64_MAX}) {
    ModelBuilder model;
    model.input("x", DataType::FLOAT, "n 8 9").integers("image", {size, 4});
    model.integers("block", {2, 2}).node("Col2Im", {"x", "image", "block"}).output("y");
    expectFails(model.import(), {"cannot make the image", "of blocks"});
  }
}

} // namespace
} // namespace smelt::test
