#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

/// A graph of one node that reads `input` of the graph around it.
ModelBuilder branch(const std::string &op, const std::string &input) {
  ModelBuilder graph;
  return graph.node(op, {input}, {"out"}).output("out");
}

ModelBuilder ifModel(const std::string &condition) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "batch 4").node("If", {condition});
  model.attribute("then_branch", branch("Exp", "x"));
  return model.attribute("else_branch", branch("Tanh", "x")).output("y");
}

TEST(ControlFlow, AConstantConditionChoosesABranch) {
  ModelBuilder model = ifModel("c");
  model.integer("c", 1).lastInitializer().set_data_type(DataType::BOOL);
  model.lastInitializer().clear_int64_data();
  model.lastInitializer().add_int32_data(0);
  Imported imported = model.import();
  expectImports(imported, {"smelt.tanh %arg0"});
  EXPECT_EQ(imported.text.find("smelt.exp "), std::string::npos);
}

TEST(ControlFlow, AConditionOfSizesChoosesABranch) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "batch 1 4").integer("one", 1).integer("axis", 1);
  model.node("Shape", {"x"}, {"shape"}).node("Gather", {"shape", "axis"}, {"size"});
  model.node("Equal", {"size", "one"}, {"c"}).node("If", {"c"});
  ModelBuilder squeeze(20);
  squeeze.integers("axes", {1}).node("Squeeze", {"x", "axes"}, {"out"}).output("out");
  model.attribute("then_branch", squeeze).attribute("else_branch", branch("Identity", "x"));
  expectImports(model.output("y").import(), {"smelt.reshape", "-> <[batch, 4], f32>", "return"});
}

TEST(ControlFlow, ARunTimeConditionSelects) {
  ModelBuilder model = ifModel("c");
  expectImports(model.input("c", DataType::BOOL, "1").import(),
                {"smelt.exp", "smelt.tanh", "smelt.select"});
}

TEST(ControlFlow, BranchesOfOtherShapesNeedTheCondition) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "2 4").input("c", DataType::BOOL, "").node("If", {"c"});
  model.attribute("then_branch", branch("Identity", "x"));
  model.attribute("else_branch", branch("Shape", "x")).output("y");
  expectFails(model.import(), {"its condition 'c' (bool []) is not constant, and its branches give "
                               "output 0 different shapes or types, which is not supported: [2, 4] "
                               "and [2]"});
}

TEST(ControlFlow, WhatDecidesAConditionIsSaid) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "2 4").input("rate", DataType::INT64, "").integer("slow", 8);
  model.node("Equal", {"rate", "slow"}, {"c"}).node("If", {"c"});
  model.attribute("then_branch", branch("Identity", "x"));
  model.attribute("else_branch", branch("Shape", "x")).output("y");
  expectFails(model.import(),
              {"If: its condition 'c' (bool []) is not constant; with its value, one "
               "branch would be enough; give it by --value rate=@FILE.npy"});
}

/// Squeezes axis 1 of x, float [batch, n, 4], where `condition` of its size holds.
ModelBuilder squeezeWhere(const std::string &op, const std::string &sizes = "batch n 4") {
  ModelBuilder model, squeeze;
  squeeze.integers("axes", {1}).node("Squeeze", {"x", "axes"}, {"out"}).output("out");
  model.input("x", DataType::FLOAT, sizes).integer("one", 1).integer("axis", 1);
  model.node("Shape", {"x"}, {"shape"}).node("Gather", {"shape", "axis"}, {"size"});
  model.node(op, {"size", "one"}, {"c"}).node("If", {"c"}, {"y"}).named("choice");
  model.attribute("then_branch", squeeze).attribute("else_branch", branch("Identity", "x"));
  return model.output("y");
}

TEST(ControlFlow, ABranchOnAnOpenSizeIsCompiledForOneOutcome) {
  Imported imported = squeezeWhere("Equal").import();
  expectImports(imported, {"%arg0: !smelt.tensor<[batch, 1, 4], f32>", "<[batch, 4], f32>"});
  EXPECT_NE(imported.diagnostics.find("choice"), std::string::npos) << imported.diagnostics;
  EXPECT_NE(imported.diagnostics.find("is compiled for n = 1: its branches give different shapes"),
            std::string::npos)
      << imported.diagnostics;
}

TEST(ControlFlow, AnotherSizeTakesTheOtherBranch) {
  ImportOptions options;
  options.inputShapes = {{"x", {-1, 3, 4}}};
  Imported imported = squeezeWhere("Equal").import(options);
  expectImports(imported, {"%arg0: !smelt.tensor<[batch, 3, 4], f32>", "return %arg0"});
  EXPECT_EQ(imported.diagnostics, "");
}

TEST(ControlFlow, ASizeThatIsNoSymbolIsGuarded) {
  expectImports(squeezeWhere("Equal", "batch n*2 4").import(), {"main"}); // a name, not a product
  ModelBuilder model, joined;
  joined.integers("axes", {0}).node("Squeeze", {"both", "axes"}, {"out"}).output("out");
  model.input("x", DataType::FLOAT, "n 4").input("z", DataType::FLOAT, "m 4").integer("one", 1);
  model.node("Concat", {"x", "z"}, {"both"}).attribute("axis", 0).integer("axis", 0);
  model.node("Shape", {"both"}, {"shape"}).node("Gather", {"shape", "axis"}, {"size"});
  model.node("Equal", {"size", "one"}, {"c"}).node("Cast", {"c"}, {"cast"}).attribute("to", 9);
  for (std::string output : {"a", "b"}) {
    model.node("If", {"cast"}, {output}).attribute("then_branch", joined);
    model.attribute("else_branch", branch("Identity", "both")).output(output);
  }
  Imported imported = model.import();
  expectImports(imported, {"smelt.guards", "return"});
  size_t first = imported.diagnostics.find("is compiled for");
  ASSERT_NE(first, std::string::npos) << imported.diagnostics;
  EXPECT_EQ(imported.diagnostics.find("is compiled for", first + 1), std::string::npos)
      << "the second branches as the first does: " << imported.diagnostics;
}

TEST(ControlFlow, ALimitIsTakenToHold) {
  ModelBuilder model, longer;
  longer.integers("axes", {0}).node("Unsqueeze", {"x", "axes"}, {"out"}).output("out");
  model.input("x", DataType::FLOAT, "n 4").integer("most", 4096).integer("axis", 0);
  model.node("Shape", {"x"}, {"shape"}).node("Gather", {"shape", "axis"}, {"size"});
  model.node("Greater", {"size", "most"}, {"c"}).node("If", {"c"}, {"y"});
  model.attribute("then_branch", longer).attribute("else_branch", branch("Tanh", "x")).output("y");
  Imported imported = model.import();
  expectImports(imported, {"smelt.tanh %arg0"});
  EXPECT_NE(imported.diagnostics.find("is compiled for n <= 4096"), std::string::npos)
      << imported.diagnostics;
}

TEST(ControlFlow, NoOutcomeIsTakenInABranchThatMayNotBe) {
  ModelBuilder inner = squeezeWhere("Equal"), outer;
  inner.graph().clear_input();
  outer.input("x", DataType::FLOAT, "batch n 4").input("c", DataType::BOOL, "").node("If", {"c"});
  outer.attribute("then_branch", inner).attribute("else_branch", branch("Identity", "x"));
  Imported imported = outer.output("y").import();
  expectFails(imported, {"give it by --value c=@FILE.npy"});
  EXPECT_EQ(imported.diagnostics.find("choice"), std::string::npos) << imported.diagnostics;
}

TEST(ControlFlow, WhatABranchDoesNotSupportIsNamed) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "2 4").input("c", DataType::BOOL, "").node("If", {"c"});
  model.named("choice").attribute("then_branch", branch("Frobnicate", "x"));
  model.attribute("else_branch", branch("Identity", "x")).output("y");
  expectFails(model.import(),
              {"choice/Frobnicate_0", "Frobnicate: the op (opset 20) is not supported"});
}

/// Adds x to a sum `trips` times, and gives all sums.
ModelBuilder loopModel(const std::string &trips, const std::string &condition = "") {
  ModelBuilder body;
  body.input("i", DataType::INT64, "").input("c", DataType::BOOL, "");
  body.input("sum", DataType::FLOAT, "4").node("Add", {"sum", "x"}, {"next"});
  body.node("Identity", {"next"}, {"row"}).node("Identity", {"c"}, {"goes_on"});
  body.output("goes_on").output("next").output("row");
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "4").floats("zero", {4}, {0, 0, 0, 0});
  model.node("Loop", {trips, condition, "zero"}, {"total", "rows"}).attribute("body", body);
  return model.output("total").output("rows");
}

TEST(ControlFlow, LoopsAreUnrolled) {
  expectImports(loopModel("trips").integer("trips", 3).import(),
                {"smelt.add", "smelt.add", "smelt.add", "smelt.concat", "-> <[3, 4], f32>"});
  expectImports(loopModel("trips").integer("trips", 0).import(), {"<[0, 4], f32>"});
}

TEST(ControlFlow, ALoopEndsWhenItsConditionDoes) {
  ModelBuilder body;
  body.input("i", DataType::INT64, "").input("c", DataType::BOOL, "");
  body.input("n", DataType::FLOAT, "").floats("two", {}, {2}).floats("most", {}, {20});
  body.node("Mul", {"n", "two"}, {"next"}).node("Less", {"next", "most"}, {"goes_on"});
  body.node("Exp", {"x"}, {"row"}).output("goes_on").output("next").output("row");
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "4").floats("one", {}, {1});
  model.node("Loop", {"", "", "one"}, {"n", "rows"}).attribute("body", body);
  expectImports(model.output("n").output("rows").import(),
                {"dense<3.2", "smelt.concat", "-> <[5, 4], f32>"});
}

TEST(ControlFlow, LoopsOfUnknownOrTooManyIterations) {
  expectFails(loopModel("n").input("n", DataType::INT64, "").import(),
              {"the number of iterations, by which the loop is unrolled, 'n' (int64 []), must be "
               "constant"});
  expectFails(loopModel("trips", "c").integer("trips", 3).input("c", DataType::BOOL, "").import(),
              {"whether it begins depends on the data of an input"});
  expectFails(loopModel("").import(), {"runs more than 1024 times, which is not supported"});
}

} // namespace
} // namespace smelt::test
