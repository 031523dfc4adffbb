#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder rectifier(const std::string &op, int64_t opset = 22, int32_t type = DataType::FLOAT) {
  ModelBuilder model(opset);
  model.input("x", type, "batch 3 4").node(op, {"x"}).output("y");
  return model;
}

TEST(Rectifier, ExponentialsKeepTheirDigitsNearZero) {
  expectImports(rectifier("Elu").attribute("alpha", 1.5f).import(),
                {"smelt.expm1 %arg0", "dense<1.500000e+00>", "smelt.mul", "smelt.less %arg0",
                 "smelt.select"});
  expectImports(rectifier("Selu").import(), {"smelt.expm1", "dense<1.67326319>", "smelt.select",
                                             "dense<1.05070102>", "smelt.mul"});
  expectImports(rectifier("Celu").attribute("alpha", 2.0f).import(),
                {"smelt.div %arg0", "smelt.expm1", "smelt.mul", "smelt.select"});
}

TEST(Rectifier, HalfPrecisionIsWidened) {
  expectImports(
      rectifier("Elu", 22, DataType::FLOAT16).import(),
      {"smelt.cast %arg0", "smelt.expm1", "f32>", "smelt.cast", "-> <[batch, 3, 4], f16>"});
  expectImports(rectifier("LeakyRelu", 22, DataType::BFLOAT16).import(),
                {"smelt.cast %arg0", "smelt.mul", "smelt.select", "smelt.cast", "bf16>"});
}

TEST(Rectifier, HardFormsAreClampedLines) {
  for (const char *op : {"HardSigmoid", "HardSwish"})
    expectImports(rectifier(op).import(),
                  {"smelt.mul %arg0", "smelt.add", "smelt.max", "smelt.min"});
}

TEST(Rectifier, ThresholdIsExclusive) {
  expectImports(rectifier("ThresholdedRelu").attribute("alpha", 2.0f).import(),
                {"smelt.less %", "%arg0", "smelt.select"});
}

TEST(Rectifier, ShrinkComparesIntegersAsNumbers) {
  expectImports(rectifier("Shrink").import(),
                {"dense<-5.000000e-01>", "smelt.less %arg0", "smelt.select"});
  expectImports(rectifier("Shrink", 22, DataType::UINT8).attribute("lambd", 1.5f).import(),
                {"smelt.cast %arg0", "f64>", "dense<-1.000000e+00>", "smelt.less", "smelt.select",
                 "smelt.cast", "ui8>"});
}

ModelBuilder sloped(const std::string &slope) {
  ModelBuilder model(16);
  model.input("x", DataType::FLOAT, "batch 3 4").input("s", DataType::FLOAT, slope);
  model.node("PRelu", {"x", "s"}).output("y");
  return model;
}

TEST(Rectifier, SlopeBroadcastsToTheInputOnly) {
  expectImports(sloped("3 1").import(), {"smelt.mul %arg0, %arg1", "smelt.less", "smelt.select"});
  expectImports(sloped("").import(), {"smelt.mul %arg0, %arg1"});
  expectFails(sloped("2 1 3 4").import(), {"its slope 's'", "does not broadcast to 'x'"});
  expectFails(sloped("5").import(), {"PRelu"});
}

} // namespace
} // namespace smelt::test
