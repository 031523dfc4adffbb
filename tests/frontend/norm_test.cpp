#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder norm(const std::string &op, int32_t type, int32_t scaleType,
                  const std::string &scale) {
  ModelBuilder model(23);
  model.input("x", type, "batch seq 8")
      .input("s", scaleType, scale)
      .node(op, {"x", "s"})
      .output("y");
  return model;
}

TEST(Norm, LayerNormWithBias) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT16, "batch 8")
      .input("s", DataType::FLOAT16, "8")
      .input("b", DataType::FLOAT16, "8");
  model.node("LayerNormalization", {"x", "s", "b"}).attribute("epsilon", 1e-12f).output("y");
  expectImports(model.import(),
                {"smelt.layer_norm %arg0 scale %arg1", "bias %arg2", "axis 1", "9.99999996E-13"});
}

TEST(Norm, ScaleIsBroughtToTheNormalisedAxes) {
  auto model = norm("LayerNormalization", DataType::FLOAT, DataType::FLOAT, "1 8");
  expectImports(model.import(), {"smelt.reshape %arg1", "-> <[8], f32>", "smelt.layer_norm"});
  expectImports(norm("LayerNormalization", DataType::FLOAT, DataType::FLOAT, "1").import(),
                {"smelt.expand %arg1", "-> <[8], f32>"});
  expectFails(norm("LayerNormalization", DataType::FLOAT, DataType::FLOAT, "7").import(),
              {"does not fit the normalised axes"});
}

TEST(Norm, ASizeThatMeetsTheScaleIsItsSize) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "batch hidden").input("s", DataType::FLOAT, "8");
  model.node("LayerNormalization", {"x", "s"}).output("y");
  expectImports(model.import(), {"%arg0: !smelt.tensor<[batch, 8], f32>", "smelt.layer_norm"});
}

TEST(Norm, LayerNormBeforeItsOpset) {
  ModelBuilder model(11);
  model.input("x", DataType::FLOAT, "n 8").input("s", DataType::FLOAT, "8");
  model.node("LayerNormalization", {"x", "s"}).output("y");
  expectImports(model.import(), {"smelt.layer_norm %arg0 scale %arg1"});
  ModelBuilder mixed(11);
  mixed.input("x", DataType::FLOAT16, "n 8").input("s", DataType::FLOAT, "8");
  mixed.node("LayerNormalization", {"x", "s"}).output("y");
  expectImports(mixed.import(), {"smelt.cast %arg0", "smelt.layer_norm", "-> <[n, 8], f32>"});
}

TEST(Norm, LayerNormStatistics) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT16, "n 8").input("s", DataType::FLOAT16, "8");
  model.node("LayerNormalization", {"x", "s"}, {"y", "mean", "inverse"}).output("inverse");
  expectImports(model.import(), {"smelt.cast", "smelt.reduce mean", "smelt.reduce mean",
                                 "smelt.rsqrt", "<[n, 1], f32>"});
}

TEST(Norm, RmsNormTakesTheTypeOfItsScale) {
  expectImports(norm("RMSNormalization", DataType::FLOAT16, DataType::FLOAT16, "8").import(),
                {"smelt.rms_norm %arg0 scale %arg1"});
  expectImports(norm("RMSNormalization", DataType::FLOAT16, DataType::FLOAT, "8").import(),
                {"smelt.rms_norm %arg0 axis 2", "smelt.cast", "smelt.mul", "f32>"});
}

TEST(Norm, SimplifiedIsRms) {
  expectImports(
      norm("SimplifiedLayerNormalization", DataType::FLOAT16, DataType::FLOAT16, "8").import(),
      {"smelt.rms_norm %arg0 scale %arg1"});
}

TEST(Norm, MeanVarianceOverNamedAxes) {
  ModelBuilder model(13);
  model.input("x", DataType::FLOAT16, "n 3 h w").node("MeanVarianceNormalization", {"x"});
  expectImports(model.output("y").import(),
                {"smelt.cast %arg0", "smelt.reduce mean", "axes [0, 2, 3]", "smelt.sqrt",
                 "smelt.add", "smelt.div", "smelt.cast"});
}

TEST(Norm, LpNormOfOneAxis) {
  auto normalised = [](int64_t power) {
    ModelBuilder model(22);
    model.input("x", DataType::FLOAT, "n 3").node("LpNormalization", {"x"}).attribute("p", power);
    return model.output("y").import();
  };
  expectImports(normalised(1), {"smelt.abs", "smelt.reduce sum", "axes [1]", "smelt.select"});
  expectImports(normalised(2), {"smelt.mul", "smelt.reduce sum", "smelt.sqrt", "smelt.select"});
  expectFails(normalised(3), {"p = 3 is not supported"});
}

} // namespace
} // namespace smelt::test
