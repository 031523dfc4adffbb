#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ImportOptions repairing() {
  ImportOptions options;
  options.repairTypes = true;
  return options;
}

ModelBuilder mixed(int32_t data, int32_t weight, int32_t bias) {
  ModelBuilder model(18);
  model.input("x", data, "m 4").input("w", weight, "4 5").input("b", bias, "5");
  model.node("Gemm", {"x", "w", "b"}).named("dense").output("y");
  return model;
}

TEST(NodeReader, MixedFloatsAreRefused) {
  expectFails(mixed(DataType::FLOAT, DataType::FLOAT16, DataType::FLOAT16).import(),
              {"Gemm: its inputs must have one type",
               "the float first appears as the graph input 'x'", "--repair-types"});
}

TEST(NodeReader, RepairedTypesAreThoseOfMostInputs) {
  Imported half = mixed(DataType::FLOAT, DataType::FLOAT16, DataType::FLOAT16).import(repairing());
  expectImports(half, {"smelt.cast %arg0", "f16>", "smelt.matmul", "<[m, 5], f16>"});
  EXPECT_NE(half.diagnostics.find(
                "loc(\"dense\"): Gemm: its input 'x' (float [m, 4]) is cast to float16"),
            std::string::npos)
      << half.diagnostics;
  expectImports(mixed(DataType::FLOAT16, DataType::FLOAT, DataType::FLOAT).import(repairing()),
                {"smelt.cast %arg0", "<[m, 5], f32>"});
}

TEST(NodeReader, OfTwoTheNarrowerStays) {
  ModelBuilder model(18);
  model.input("x", DataType::FLOAT, "m 4").input("w", DataType::BFLOAT16, "4 5");
  model.node("MatMul", {"x", "w"}).output("y");
  expectImports(model.import(repairing()), {"smelt.cast %arg0", "bf16>", "smelt.matmul"});
}

TEST(NodeReader, IntegersAreNoTypesToRepair) {
  expectFails(mixed(DataType::FLOAT, DataType::INT32, DataType::FLOAT).import(repairing()),
              {"Gemm: its inputs must have one type"});
}

TEST(NodeReader, ARepairedOutputHasItsDeclaredType) {
  ModelBuilder model = mixed(DataType::FLOAT, DataType::FLOAT16, DataType::FLOAT16);
  onnx_wire::ValueInfo &output = *model.graph().mutable_output(0);
  output.mutable_type()->mutable_tensor_type()->set_elem_type(DataType::FLOAT);
  Imported imported = model.import(repairing());
  expectImports(imported, {"smelt.matmul", "smelt.cast", "<[m, 5], f32>"});
  EXPECT_NE(imported.diagnostics.find("its output 'y' is cast from float16 to float"),
            std::string::npos)
      << imported.diagnostics;
}

TEST(NodeReader, AContradictionNamesTheShapesThatAreDeclared) {
  ModelBuilder model(18);
  model.input("x", DataType::FLOAT, "1 batch 12").integers("s", {4, 12});
  model.node("Relu", {"x"}, {"r"}).node("Reshape", {"r", "s"}).named("flat").output("y");
  ModelBuilder fixed(18);
  fixed.input("x", DataType::FLOAT, "1 12").integers("s", {4, 12});
  fixed.node("Relu", {"x"}, {"r"}).node("Reshape", {"r", "s"}).named("flat").output("y");
  expectImports(model.import(), {"<[1, 4, 12], f32>"});
  expectFails(fixed.import(), {"loc(\"flat\"): needs 48 = 12"});
  ImportOptions given;
  given.inputShapes = {{"x", {4, 12}}};
  expectFails(fixed.import(given), {"does not fit the declared 1"});
  given.replacesDeclared = true;
  Imported replaced = fixed.import(given);
  expectImports(replaced, {"<[4, 12], f32>"});
  EXPECT_NE(replaced.diagnostics.find("the declared dimension 1 is taken to be 4"),
            std::string::npos)
      << replaced.diagnostics;
}

/// A graph in name only: its kind says so, and nothing follows.
TEST(NodeReader, AnAttributeThatHoldsNoGraphIsAnError) {
  ModelBuilder scan(21), flex(26);
  scan.input("x", DataType::FLOAT, "3 4").node("Scan", {"x"}).attribute("num_scan_inputs", 1);
  flex.opset("ai.onnx.preview", 1);
  for (const char *name : {"q", "k", "v"})
    flex.input(name, DataType::FLOAT, "1 2 4 8");
  flex.node("FlexAttention", {"q", "k", "v"}).lastNode().set_domain("ai.onnx.preview");
  for (auto [model, name] : {std::pair(&scan, "body"), std::pair(&flex, "score_mod")}) {
    onnx_wire::Attribute &empty = *model->lastNode().add_attribute();
    empty.set_name(name);
    empty.set_type(onnx_wire::Attribute::GRAPH);
    expectFails(model->output("y").import(), {std::string("needs a graph '") + name + "'"});
  }
}

} // namespace
} // namespace smelt::test
