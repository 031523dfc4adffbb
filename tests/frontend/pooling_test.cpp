#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder pool(const std::string &op, const std::string &shape = "batch 3 9 9",
                  int64_t opset = 22) {
  ModelBuilder model(opset);
  model.input("x", DataType::FLOAT, shape).output("y").node(op, {"x"});
  if (op.find("Global") == std::string::npos)
    model.attribute("kernel_shape", std::vector<int64_t>{3, 3});
  return model;
}

const std::vector<int64_t> kTwo{2, 2}, kPads{1, 1, 1, 1};

TEST(Pooling, AMaximumOfWindowsPaddedWithTheLowest) {
  expectImports(pool("MaxPool").attribute("strides", kTwo).attribute("pads", kPads).import(),
                {"0xFF800000", "smelt.concat", "axis 2", "smelt.windows",
                 "axis 2 stride 2 dilation 1 : <[batch, 3, 11, 11], f32> -> "
                 "<[batch, 3, 5, 3, 11], f32>",
                 "smelt.windows", "axis 4 stride 2", "smelt.transpose", "[0, 1, 2, 4, 3, 5]",
                 "smelt.reduce max", "axes [4, 5]", "-> <[batch, 3, 5, 5], f32>"});
}

TEST(Pooling, SizesMayBeOpen) {
  expectImports(pool("MaxPool", "batch 3 h w").attribute("strides", kTwo).import(),
                {"less_equal", "<[batch, 3, floordiv(h - 3, 2) + 1, 3, w], f32>"});
  expectFails(pool("MaxPool", "batch 3 h w")
                  .attribute("strides", kTwo)
                  .attribute("auto_pad", "SAME_UPPER")
                  .import(),
              {"auto_pad SAME with a stride needs constant sizes"});
}

TEST(Pooling, AnIncompleteWindowIsFilledUp) {
  expectImports(
      pool("MaxPool", "1 1 8 9").attribute("strides", kTwo).attribute("ceil_mode", 1).import(),
      {"smelt.windows", "<[1, 1, 9, 9], f32> -> <[1, 1, 4, 3, 9], f32>"});
}

TEST(Pooling, PlacesOfTheMaxima) {
  ModelBuilder model(22);
  model.input("x", DataType::FLOAT, "batch 3 9 9").output("y").output("places");
  model.node("MaxPool", {"x"}, {"y", "places"}).attribute("kernel_shape", kTwo);
  expectImports(model.import(), {"smelt.iota : <[243*batch], i64>", "smelt.top_k", "axis 4",
                                 "smelt.gather_elements", "smelt.reduce max"});
}

TEST(Pooling, PlacesOfBytesAreNeverThoseOfPadding) {
  ModelBuilder model(22);
  model.input("x", DataType::INT8, "batch 3 9 9").output("y").output("places");
  model.node("MaxPool", {"x"}, {"y", "places"})
      .attribute("kernel_shape", kTwo)
      .attribute("pads", kPads);
  expectImports(model.import(), {"smelt.cast", "dense<-2147483648> : tensor<i32>", "smelt.top_k"});
}

TEST(Pooling, AveragesCountWhatTheyAreToldTo) {
  expectImports(pool("AveragePool").import(), {"smelt.reduce sum", "dense<9", "smelt.div"});
  expectImports(pool("AveragePool").attribute("pads", kPads).import(),
                {"smelt.reduce sum", "<[11, 11], f32>", "smelt.reduce sum", "smelt.div"});
  expectImports(
      pool("AveragePool").attribute("pads", kPads).attribute("count_include_pad", 1).import(),
      {"smelt.reduce sum", "dense<9", "smelt.div"});
}

TEST(Pooling, GlobalOnesReduceAllSpatialAxes) {
  expectImports(pool("GlobalAveragePool").import(), {"smelt.reduce mean %arg0 axes [2, 3]"});
  expectImports(pool("GlobalMaxPool").import(), {"smelt.reduce max %arg0 axes [2, 3]"});
  expectImports(pool("GlobalLpPool").import(),
                {"smelt.abs", "smelt.pow", "smelt.reduce sum", "axes [2, 3]", "smelt.pow"});
  expectFails(pool("GlobalMaxPool", "batch 3").import(), {"needs an input with spatial axes"});
}

TEST(Pooling, WindowsMustFit) {
  expectFails(pool("MaxPool", "1 1 2 9").import(), {"the window fits into the padded input"});
  expectFails(pool("LpPool").attribute("p", 0).import(), {"'p' must be at least 1, got 0"});
  ModelBuilder model(22);
  model.input("x", DataType::FLOAT, "1 1 9 9").output("y").node("MaxPool", {"x"});
  expectFails(model.import(), {"needs its attribute 'kernel_shape'"});
}

TEST(Pooling, UnpoolingScatters) {
  ModelBuilder model(22);
  model.input("x", DataType::FLOAT, "1 1 2 2").input("i", DataType::INT64, "1 1 2 2").output("y");
  model.node("MaxUnpool", {"x", "i"}).attribute("kernel_shape", kTwo).attribute("strides", kTwo);
  expectImports(model.import(),
                {"smelt.scatter_elements", "axis 0 : <[16], f32>", "-> <[1, 1, 4, 4], f32>"});
}

} // namespace
} // namespace smelt::test
