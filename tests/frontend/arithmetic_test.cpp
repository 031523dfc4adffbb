#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder binary(const std::string &op, int32_t left = DataType::FLOAT,
                    int32_t right = DataType::FLOAT) {
  ModelBuilder model;
  model.input("a", left, "batch 3").input("b", right, "3").node(op, {"a", "b"}).output("y");
  return model;
}

TEST(Arithmetic, Broadcasts) {
  for (auto [op, name] :
       {std::pair("Add", "add"), {"Sub", "sub"}, {"Mul", "mul"}, {"Div", "div"}, {"Max", "max"}})
    expectImports(binary(op).import(),
                  {std::string("smelt.") + name + " %arg0, %arg1", "-> <[batch, 3], f32>"});
}

TEST(Arithmetic, Trigonometry) {
  for (auto [op, name] : {std::pair("Tan", "tan"),
                          {"Asin", "asin"},
                          {"Acos", "acos"},
                          {"Atan", "atan"},
                          {"Sinh", "sinh"},
                          {"Cosh", "cosh"},
                          {"Asinh", "asinh"},
                          {"Acosh", "acosh"},
                          {"Atanh", "atanh"}}) {
    ModelBuilder model;
    model.input("x", DataType::DOUBLE, "n").node(op, {"x"}).output("y");
    expectImports(model.import(), {std::string("smelt.") + name + " %arg0", "<[n], f64>"});
  }
}

TEST(Arithmetic, RefusesShapesThatContradict) {
  ModelBuilder model;
  model.input("a", DataType::FLOAT, "2 3")
      .input("b", DataType::FLOAT, "4")
      .node("Add", {"a", "b"})
      .output("y");
  expectFails(model.import(), {"Add_0", "[2, 3] and [4] do not broadcast"});
}

TEST(Arithmetic, NamesTheOriginOfAMixedType) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT16, "n")
      .input("ids", DataType::INT64, "n")
      .node("Cast", {"ids"}, {"wide"})
      .named("widen")
      .attribute("to", 1)
      .node("Relu", {"wide"}, {"positive"})
      .node("Add", {"x", "positive"})
      .named("mixed")
      .output("y");
  expectFails(model.import(),
              {"mixed", "'x' (float16 [n]) and 'positive' (float [n]) differ",
               "first appears as 'wide', the result of node 'widen' (Cast)", "from 'ids' (int64)"});
}

TEST(Arithmetic, PowKeepsTheTypeOfItsBase) {
  expectImports(binary("Pow", DataType::FLOAT, DataType::INT64).import(),
                {"smelt.pow", "-> <[batch, 3], f32>"});
  expectImports(binary("Pow", DataType::INT32, DataType::FLOAT).import(),
                {"smelt.cast %arg0", "f32>", "smelt.pow", "smelt.cast", "-> <[batch, 3], i32>"});
}

TEST(Arithmetic, ModOfFloatsNeedsFmod) {
  expectImports(binary("Mod", DataType::INT64, DataType::INT64).import(),
                {"smelt.mod %arg0, %arg1 :"});
  expectImports(binary("Mod").attribute("fmod", 1).import(), {"smelt.mod %arg0, %arg1 fmod"});
  expectFails(binary("Mod").import(), {"fmod"});
  ModelBuilder newest(28);
  newest.input("a", DataType::FLOAT, "n").node("Mod", {"a", "a"}).output("y");
  expectImports(newest.import(), {"smelt.mod %arg0, %arg0 :"});
}

TEST(Arithmetic, VariadicOpsChain) {
  ModelBuilder model;
  model.input("a", DataType::FLOAT, "3").node("Mean", {"a", "a", "a"}).output("y");
  expectImports(model.import(), {"smelt.add", "smelt.add", "dense<3.0", "smelt.div"});
  ModelBuilder one;
  one.input("a", DataType::FLOAT, "3").node("Sum", {"a"}).output("y");
  expectImports(one.import(), {"return %arg0"});
}

TEST(Arithmetic, ClipInEveryVersion) {
  ModelBuilder attributes(7);
  attributes.input("x", DataType::FLOAT, "3")
      .node("Clip", {"x"})
      .attribute("min", 0.0f)
      .output("y");
  expectImports(attributes.import(), {"smelt.max", "return"});
  ModelBuilder inputs;
  inputs.input("x", DataType::FLOAT, "3")
      .floats("high", {}, {6})
      .node("Clip", {"x", "", "high"})
      .output("y");
  expectImports(inputs.import(), {"smelt.min", "return"});
}

} // namespace
} // namespace smelt::test
