#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder binary(const std::string &op, const std::string &second, int64_t opset = 6) {
  ModelBuilder model(opset);
  model.input("a", DataType::FLOAT, "batch 3 4 5").input("b", DataType::FLOAT, second);
  model.node(op, {"a", "b"}).output("y");
  return model;
}

TEST(OldForms, TheSecondInputSpreadsFromAnAxis) {
  for (int64_t opset : {1, 6}) {
    expectImports(
        binary("Add", "3 4", opset).attribute("broadcast", 1).attribute("axis", 1).import(),
        {"smelt.reshape %arg1 : <[3, 4], f32> -> <[3, 4, 1], f32>", "smelt.add %arg0, %0"});
    expectImports(
        binary("Mul", "3", opset).attribute("broadcast", 1).attribute("axis", -3).import(),
        {"-> <[3, 1, 1], f32>", "smelt.mul"});
  }
  expectImports(binary("Less", "4 5").attribute("broadcast", 1).import(),
                {"smelt.less %arg0, %arg1"});
  expectImports(binary("Div", "1 1").attribute("broadcast", 1).attribute("axis", 3).import(),
                {"smelt.reshape %arg1", "-> <[], f32>", "smelt.div"});
  expectImports(binary("Sub", "batch 3 4 5").import(), {"smelt.sub %arg0, %arg1"});
}

TEST(OldForms, WhatHasNoPlaceIsRefused) {
  expectFails(binary("Add", "4 5").attribute("broadcast", 1).attribute("axis", 3).import(),
              {"Add: its input 'b' (float [4, 5]) has no place from axis 3 on in 'a'"});
  expectFails(binary("Add", "7 1 3 4 5").attribute("broadcast", 1).import(), {"has no place"});
  expectFails(binary("Add", "3").attribute("broadcast", 1).attribute("axis", 9).import(),
              {"axis 9 is outside rank 4"});
  expectFails(binary("Add", "4").attribute("broadcast", 1).attribute("axis", 1).import(), {"Add"});
}

TEST(OldForms, ASlopeIsOfAChannel) {
  expectImports(binary("PRelu", "3").import(), {"smelt.reshape %arg1", "-> <[3, 1, 1], f32>"});
  expectImports(binary("PRelu", "1").import(), {"smelt.mul %arg0, %arg1"});
}

ModelBuilder unary(const std::string &op, int64_t opset, const std::string &shape = "batch 3 4 5") {
  ModelBuilder model(opset);
  model.input("x", DataType::FLOAT, shape).node(op, {"x"}).output("y");
  return model;
}

TEST(OldForms, AttributesStandForLaterInputs) {
  expectImports(unary("Reshape", 1).attribute("shape", std::vector<int64_t>{0, -1}).import(),
                {"-> <[batch, 60], f32>"});
  expectFails(unary("Reshape", 1).import(), {"Reshape: needs its attribute 'shape'"});
  expectImports(unary("Pad", 1, "3 4")
                    .attribute("paddings", std::vector<int64_t>{0, 1, 2, 0})
                    .attribute("value", 2.5f)
                    .import(),
                {"dense<2.500000e+00>", "<[5, 5], f32>"});
  expectFails(unary("Pad", 1).import(), {"Pad: needs its attribute 'paddings'"});
  expectImports(unary("Upsample", 1)
                    .attribute("height_scale", 2.0f)
                    .attribute("width_scale", 3.0f)
                    .attribute("mode", "bilinear")
                    .import(),
                {"-> <[batch, 3, 8, 15], f32>"});
  expectImports(unary("Clip", 1).attribute("min", -1.5f).import(),
                {"dense<-1.500000e+00>", "smelt.max"});
}

TEST(OldForms, TypesHaveNames) {
  expectImports(unary("Cast", 1).attribute("to", "FLOAT16").import(), {"smelt.cast", "f16>"});
  expectFails(unary("Cast", 5).attribute("to", "FLOAT17").import(),
              {"Cast: its attribute 'to' is 'FLOAT17', which names no data type"});
  expectFails(unary("Cast", 1).attribute("to", "STRING").import(), {"conversion to string"});
}

TEST(OldForms, DefaultsAreThoseOfTheirOpset) {
  ModelBuilder model(1);
  model.input("a", DataType::FLOAT, "n 3").input("b", DataType::FLOAT, "n 4");
  model.node("Concat", {"a", "b"}).output("y");
  expectImports(model.import(), {"<[n, 7], f32>"});
  expectImports(unary("Selu", 1).import(), {"dense<1.673200e+00>", "dense<1.050700e+00>"});
  expectImports(unary("Selu", 6).import(), {"dense<1.67326319>"});
}

TEST(OldForms, OneAxisIsTiled) {
  ModelBuilder model(1);
  model.input("x", DataType::FLOAT, "n 3").integer("tiles", 4).integer("axis", -1);
  model.node("Tile", {"x", "tiles", "axis"}).output("y");
  expectImports(model.import(), {"<[n, 12], f32>"});
}

TEST(OldForms, PowersWereFloats) {
  expectImports(unary("GlobalLpPool", 1).attribute("p", 3.0f).import(), {"smelt.pow"});
  expectFails(unary("GlobalLpPool", 1).attribute("p", 2.5f).import(),
              {"its attribute 'p' is 2.5", "only whole powers"});
}

} // namespace
} // namespace smelt::test
