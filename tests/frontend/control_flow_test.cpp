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
