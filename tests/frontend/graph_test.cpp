// Order, names, cycles, opsets, local functions.
#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

TEST(Graph, SortsItsNodes) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "n")
      .node("Tanh", {"a"}, {"y"})
      .node("Relu", {"x"}, {"a"})
      .output("y");
  expectImports(model.import(), {"smelt.relu", "smelt.tanh"});
}

TEST(Graph, NamesACycle) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "n")
      .node("Add", {"x", "b"}, {"a"})
      .named("first")
      .node("Relu", {"a"}, {"b"})
      .named("second")
      .node("Relu", {"b"}, {"y"})
      .named("after")
      .output("y");
  expectFails(model.import(), {"depends on itself: 'first' needs 'second' needs 'first'"});
}

TEST(Graph, RefusesNamesDefinedTwice) {
  ModelBuilder nodes;
  nodes.input("x", DataType::FLOAT, "n")
      .node("Relu", {"x"})
      .named("one")
      .node("Tanh", {"x"})
      .named("two")
      .output("y");
  expectFails(nodes.import(), {"two", "defines 'y', which is already defined by node 'one'"});
  ModelBuilder input;
  input.input("x", DataType::FLOAT, "n").node("Relu", {"x"}, {"x"}).output("x");
  expectFails(input.import(), {"already a graph input or initializer"});
  ModelBuilder inputs;
  inputs.input("x", DataType::FLOAT, "n").input("x", DataType::FLOAT, "n").output("x");
  expectFails(inputs.import(), {"graph input 'x' is declared twice"});
  ModelBuilder initializers;
  initializers.integer("x", 1).integer("x", 2).output("x");
  expectFails(initializers.import(), {"initializer 'x' is defined twice"});
}

TEST(Graph, RefusesUndefinedNames) {
  ModelBuilder node;
  node.node("Relu", {"ghost"}).output("y");
  expectFails(node.import(), {"reads 'ghost', which no node, input or initializer defines"});
  ModelBuilder output;
  output.input("x", DataType::FLOAT, "n").output("ghost");
  expectFails(output.import(), {"graph output 'ghost' is defined by no node"});
}

TEST(Graph, ReportsEveryUnsupportedNodeAtOnce) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "n");
  for (int index = 0; index < 5; ++index)
    model.node("Frobnicate", {"x"}, {"f" + std::to_string(index)})
        .named("frob" + std::to_string(index));
  model.node("Whirl", {"x"}, {"l"}).node("Custom", {"x"}, {"y"});
  model.lastNode().set_domain("org.example");
  model.output("y");
  expectFails(
      model.import(),
      {"op Frobnicate (opset 20) is not supported: needed by 'frob0', 'frob1', 'frob2' and 2 more",
       "op Whirl", "op org.example.Custom"});
}

TEST(Graph, OpsetsHaveALowestAndAHighest) {
  for (int64_t opset : {1, 28, 29}) {
    ModelBuilder model(opset);
    model.input("x", DataType::FLOAT, "n").node("Relu", {"x"}).output("y");
    if (opset <= 28)
      expectImports(model.import(), {"smelt.relu"});
    else
      expectFails(model.import(), {"needs ONNX opset 29; opsets 1 to 28 are supported"});
  }
  ModelBuilder none;
  none.model.clear_opset_import();
  none.input("x", DataType::FLOAT, "n").node("Relu", {"x"}).output("y");
  expectFails(none.import(), {"imports no version of the ONNX opset"});
}

TEST(Graph, TheFirstFilesNameNoOpset) {
  ModelBuilder model;
  model.model.clear_opset_import();
  model.model.set_ir_version(2);
  model.input("x", DataType::FLOAT, "n").input("b", DataType::FLOAT, "");
  model.node("Add", {"x", "b"}).attribute("broadcast", 1).output("y");
  expectImports(model.import(), {"smelt.add %arg0, %arg1"});
}

TEST(Graph, InputsAndInitializersMayBeOutputs) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "n").integers("i", {1, 2}).output("x").output("i").output("x");
  expectImports(model.import(), {"return %arg0, %i :"});
}

TEST(Graph, AnInitializerStandsForItsInput) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "n")
      .input("bias", DataType::FLOAT, "1")
      .floats("bias", {1}, {2})
      .node("Add", {"x", "bias"});
  model.output("y");
  expectImports(
      model.import(),
      {"func.func @main(%arg0: !smelt.tensor<[n], f32> {smelt.name = \"x\"}) ->", "dense<2.0"});
}

TEST(Graph, MissingRequiredInputs) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "n").node("Add", {"x", ""}).output("y");
  expectFails(model.import(), {"Add: needs at least 2 inputs; input 1 is missing"});
}

TEST(Graph, AttributesOfTheWrongKind) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "n")
      .node("Softmax", {"x"})
      .attribute("axis", "last")
      .output("y");
  expectFails(model.import(), {"attribute 'axis' is a string, but must be an integer"});
}

TEST(Graph, InputsMustBeTensorsOfKnownTypes) {
  ModelBuilder strings;
  strings.input("x", DataType::STRING, "n").output("x");
  expectFails(strings.import(), {"is of type string, which is not supported"});
  ModelBuilder sequence;
  sequence.input("x", DataType::FLOAT, "n").output("x");
  sequence.graph().mutable_input(0)->mutable_type()->mutable_sequence_type();
  expectFails(sequence.import(), {"is no tensor"});
  ModelBuilder shapeless;
  shapeless.input("x", DataType::FLOAT, "n").output("x");
  shapeless.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  expectFails(shapeless.import(), {"declares no shape", "--shape x=1x128"});
  ModelBuilder negative;
  negative.input("x", DataType::FLOAT, "-3").output("x");
  expectFails(negative.import(), {"negative dimension -3"});
  ModelBuilder open; // as some write it
  open.input("x", DataType::FLOAT, "-1 3").output("x");
  expectImports(open.import(), {"[x_d0, 3]"});
  EXPECT_NE(open.import().diagnostics.find("declares -1 for dimension 0"), std::string::npos);
  ModelBuilder huge;
  huge.input("x", DataType::FLOAT, "9223372036854775807").output("x");
  expectFails(huge.import(), {"x", "[9223372036854775807] has a dimension that overflows"});
}

TEST(Graph, SizesThatOverflow) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "4294967296 4294967296").node("Relu", {"x"}).output("y");
  expectFails(model.import(), {"[4294967296, 4294967296] has too many elements"});
  ModelBuilder outer;
  outer.input("a", DataType::FLOAT, "134217728 1 1")
      .input("b", DataType::FLOAT, "134217728 8")
      .node("Mul", {"a", "b"})
      .output("y");
  expectFails(outer.import(), {"has too many elements"});
}

TEST(Graph, PinnedShapesMustFit) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "batch 3")
      .input("z", DataType::FLOAT, "batch")
      .node("Relu", {"x"})
      .output("y");
  ImportOptions options;
  options.inputShapes = {{"x", {2, 3}}};
  expectImports(model.import(options),
                {"%arg0: !smelt.tensor<[2, 3], f32>", "%arg1: !smelt.tensor<[2], f32>"});
  options.inputShapes = {{"x", {2, 4}}};
  expectFails(model.import(options), {"given dimension 4 does not fit the declared 3"});
  options.inputShapes = {{"x", {2}}};
  expectFails(model.import(options), {"given shape has 1 dimensions, the input has 2"});
  options.inputShapes = {{"x", {2, 3}}, {"z", {5}}};
  expectFails(model.import(options), {"given dimension 5 does not fit the declared 2"});
  options.inputShapes = {{"w", {2}}};
  expectFails(model.import(options), {"'w', which is no input"});
  model.input("w", DataType::FLOAT, "1").floats("w", {1}, {1});
  expectFails(model.import(options), {"'w', which is an initializer"});
}

onnx_wire::Function &addFunction(ModelBuilder &model, const std::string &name,
                                 const std::string &bodyOp) {
  onnx_wire::Function &function = *model.model.add_functions();
  function.set_name(name);
  function.set_domain("local");
  function.add_input("in");
  function.add_output("out");
  function.add_opset_import()->set_version(20);
  onnx_wire::Node &node = *function.add_node();
  node.set_op_type(bodyOp);
  node.add_input("in");
  node.add_output("out");
  return function;
}

ModelBuilder &call(ModelBuilder &model, const std::string &name, const std::string &from,
                   const std::string &to) {
  model.node(name, {from}, {to});
  model.lastNode().set_domain("local");
  return model;
}

TEST(Functions, AreInlinedWithTheirAttributes) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "a b");
  onnx_wire::Function &function = addFunction(model, "Normalise", "Softmax");
  onnx_wire::Attribute &axis = *function.mutable_node(0)->add_attribute();
  axis.set_name("axis");
  axis.set_ref_attr_name("which");
  axis.set_type(onnx_wire::Attribute::INT);
  call(model, "Normalise", "x", "m").attribute("which", 0);
  call(model, "Normalise", "m", "y").output("y");
  expectImports(model.import(), {"smelt.softmax %arg0 axis 0", "smelt.softmax %0 axis 1"});
}

TEST(Functions, NestAndKeepTheirNamesApart) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "n");
  addFunction(model, "Inner", "Relu");
  onnx_wire::Function &outer = addFunction(model, "Outer", "Inner");
  outer.mutable_node(0)->set_domain("local");
  outer.mutable_node(0)->set_output(0, "middle");
  onnx_wire::Node &second = *outer.add_node();
  second.set_op_type("Tanh");
  second.add_input("middle");
  second.add_output("out");
  call(model, "Outer", "x", "a");
  call(model, "Outer", "a", "y").output("y");
  expectImports(model.import(), {"smelt.relu", "smelt.tanh", "smelt.relu", "smelt.tanh"});
}

TEST(Functions, MayPassAnInputThrough) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "n");
  addFunction(model, "Same", "Relu").set_output(0, "in");
  call(model, "Same", "x", "y").output("y");
  expectImports(model.import(), {"return %arg0"});
}

TEST(Functions, RefuseRecursion) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "n");
  addFunction(model, "A", "B").mutable_node(0)->set_domain("local");
  addFunction(model, "B", "A").mutable_node(0)->set_domain("local");
  call(model, "A", "x", "y").output("y");
  expectFails(model.import(), {"the local function 'A' calls itself"});
}

TEST(Functions, RefuseToGrowWithoutBound) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "n");
  // Each level calls the next one twice: 2^30 nodes.
  for (int level = 0; level < 30; ++level) {
    onnx_wire::Function &function = addFunction(
        model, "F" + std::to_string(level), level == 29 ? "Relu" : "F" + std::to_string(level + 1));
    if (level == 29)
      continue;
    function.mutable_node(0)->set_domain("local");
    function.mutable_node(0)->set_output(0, "half");
    *function.add_node() = function.node(0);
    function.mutable_node(1)->set_input(0, "half");
    function.mutable_node(1)->set_output(0, "out");
  }
  call(model, "F0", "x", "y").output("y");
  expectFails(model.import(), {"more than 200000 nodes after inlining"});
}

TEST(Functions, RefuseTooManyArguments) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "n");
  addFunction(model, "One", "Relu");
  model.node("One", {"x", "x"});
  model.lastNode().set_domain("local");
  model.output("y");
  expectFails(model.import(), {"calls the local function 'One' with 2 inputs"});
}

} // namespace
} // namespace smelt::test
