// Graphs in graphs: names, order, functions, weights.
#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder alwaysThen(const ModelBuilder &branch) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "batch 200");
  ModelBuilder none;
  none.node("Identity", {"x"}, {"out"}).output("out");
  model.integer("c", 1).lastInitializer().set_data_type(DataType::INT64);
  model.node("Cast", {"c"}, {"condition"}).attribute("to", int64_t{DataType::BOOL});
  model.node("If", {"condition"}).named("choice");
  return model.attribute("then_branch", branch).attribute("else_branch", none).output("y");
}

TEST(NodeImporter, ABranchWaitsForWhatItReads) {
  ModelBuilder branch;
  branch.node("Exp", {"late"}, {"out"}).output("out");
  ModelBuilder model = alwaysThen(branch);
  expectImports(model.node("Tanh", {"x"}, {"late"}).import(), {"smelt.tanh", "smelt.exp"});
}

TEST(NodeImporter, ItsOwnNamesHideThoseAround) {
  ModelBuilder branch;
  branch.node("Tanh", {"x"}, {"y"}).node("Exp", {"y"}, {"out"}).output("out");
  expectImports(alwaysThen(branch).import(), {"smelt.tanh %arg0", "smelt.exp"});
}

TEST(NodeImporter, WeightsOfBranchesHaveNamesOfTheirOwn) {
  ModelBuilder branch;
  std::vector<float> values(200);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i * i);
  branch.floats("w", {200}, values).node("Mul", {"x", "w"}, {"out"}).output("out");
  values[0] = 7;
  ModelBuilder model = alwaysThen(branch);
  model.floats("w", {200}, values).node("Add", {"y", "w"}, {"z"}).output("z");
  expectImports(model.import(), {"smelt.weight \"choice/w\"", "smelt.weight \"w\""});
}

TEST(NodeImporter, FunctionsInBranchesAreInlined) {
  ModelBuilder branch;
  branch.node("Twice", {"x"}, {"out"}).output("out");
  branch.lastNode().set_domain("local");
  ModelBuilder model = alwaysThen(branch);
  onnx_wire::Function &function = *model.model.add_functions();
  function.set_name("Twice"), function.set_domain("local");
  function.add_input("a"), function.add_output("b");
  onnx_wire::OperatorSet &import = *function.add_opset_import();
  import.set_version(20);
  onnx_wire::Node &add = *function.add_node();
  add.set_op_type("Add"), add.add_input("a"), add.add_input("a"), add.add_output("b");
  model.opset("local", 1);
  expectImports(model.import(), {"smelt.add %arg0, %arg0"});
}

TEST(NodeImporter, BranchesOfFunctionsReadTheCallersValues) {
  ModelBuilder model;
  model.opset("local", 1).input("x", DataType::FLOAT, "4").input("y", DataType::BOOL, "");
  model.node("Choose", {"x", "y"}, {"z"}).output("z").lastNode().set_domain("local");
  ModelBuilder body;
  auto branch = [](const char *op) {
    ModelBuilder graph;
    return graph.node(op, {"mid"}, {"out"}).output("out");
  };
  body.node("Neg", {"a"}, {"mid"}).node("If", {"b"}, {"result"});
  body.attribute("then_branch", branch("Exp")).attribute("else_branch", branch("Tanh"));
  onnx_wire::Function &function = *model.model.add_functions();
  function.set_name("Choose"), function.set_domain("local");
  function.add_input("a"), function.add_input("b"), function.add_output("result");
  function.add_opset_import()->set_version(20);
  *function.mutable_node() = body.graph().node();
  expectImports(model.import(), {"smelt.neg %arg0", "smelt.exp", "smelt.tanh", "smelt.select"});
}

TEST(NodeImporter, UndefinedNamesInsideAreNamed) {
  ModelBuilder branch;
  branch.node("Exp", {"ghost"}, {"out"}).output("out");
  expectFails(alwaysThen(branch).import(),
              {"reads 'ghost', which no node, input or initializer defines"});
}

TEST(NodeImporter, FunctionsThatReachThemselvesThroughABranchEnd) {
  ModelBuilder model;
  model.opset("local", 1).input("x", DataType::FLOAT, "4").integer("one", 1);
  model.node("Deep", {"x"}, {"z"}).output("z").lastNode().set_domain("local");
  ModelBuilder inner, body;
  inner.node("Deep", {"a"}, {"out"}).output("out").lastNode().set_domain("local");
  body.node("Cast", {"one"}, {"c"}).attribute("to", int64_t{DataType::BOOL});
  *body.lastNode().mutable_input(0) = "a";
  body.node("ReduceMax", {"c"}, {"b"}).attribute("keepdims", 0);
  *body.lastNode().mutable_input(0) = "c";
  body.node("If", {"b"}, {"result"})
      .attribute("then_branch", inner)
      .attribute("else_branch", inner);
  onnx_wire::Function &function = *model.model.add_functions();
  function.set_name("Deep"), function.set_domain("local");
  function.add_input("a"), function.add_output("result");
  function.add_opset_import()->set_version(20);
  function.add_opset_import()->set_version(1);
  function.mutable_opset_import(1)->set_domain("local");
  *function.mutable_node() = body.graph().node();
  expectFails(model.import(), {"has graphs in graphs more than 32 deep"});
}

} // namespace
} // namespace smelt::test
