// The shape of an imported module: names, symbols, guards, constants and weights, and what is
// dropped.
#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

TEST(Import, NamesArgumentsResultsAndSymbols) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "batch ? 3").node("Relu", {"x"}).output("y");
  expectImports(
      model.import(),
      {R"(func.func @main(%arg0: !smelt.tensor<[batch, x_d1, 3], f32> {smelt.name = "x"}))",
       R"(-> (!smelt.tensor<[batch, x_d1, 3], f32> {smelt.name = "y"}))", "smelt.relu %arg0",
       "return"});
}

TEST(Import, SymbolsAreIdentifiersAndUnique) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "batch*2 batch_2 7up").node("Relu", {"x"}).output("y");
  expectImports(model.import(), {"[batch_2, batch_2_1, 7"});
}

TEST(Import, PlaceholdersForNamesAreNoNames) {
  for (std::string placeholder : {"?*", "None", "none", "unknown", "DYNAMIC"}) {
    ModelBuilder model;
    model.input("x", DataType::FLOAT, placeholder + " 3 " + placeholder);
    model.input("z", DataType::FLOAT, placeholder).node("Identity", {"x"}).output("y").output("z");
    expectImports(model.import(), {"%arg0: !smelt.tensor<[x_d0, 3, x_d2], f32>",
                                   "%arg1: !smelt.tensor<[z_d0], f32>"});
  }
}

TEST(Import, ResolvesShapeArithmetic) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "batch seq 8")
      .integers("heads", {2, -1})
      .node("Shape", {"x"}, {"shape"})
      .attribute("end", 2)
      .node("Concat", {"shape", "heads"}, {"target"})
      .attribute("axis", 0)
      .node("Reshape", {"x", "target"})
      .output("y");
  Imported imported = model.import();
  expectImports(imported, {"%0 = smelt.reshape %arg0", "<[batch, seq, 2, 4], f32>", "return %0"});
}

TEST(Import, EqualSizesBecomeOneSymbol) {
  ModelBuilder model;
  model.input("a", DataType::FLOAT, "m seq")
      .input("b", DataType::FLOAT, "n seq")
      .node("Add", {"a", "b"})
      .output("y");
  expectImports(model.import(),
                {"%arg0: !smelt.tensor<[m, seq], f32>", "%arg1: !smelt.tensor<[m, seq], f32>"});
}

TEST(Import, SumsWithACommonTermEquateTheRest) {
  ModelBuilder model;
  model.input("a", DataType::FLOAT, "past 2").input("b", DataType::FLOAT, "kept 2");
  model.input("new", DataType::FLOAT, "seq 2").node("Concat", {"a", "new"}, {"left"});
  model.attribute("axis", 0).node("Concat", {"b", "new"}, {"right"}).attribute("axis", 0);
  model.node("Add", {"left", "right"}).output("y");
  expectImports(model.import(), {"smelt.guards = []", "%arg0: !smelt.tensor<[past, 2], f32>",
                                 "%arg1: !smelt.tensor<[past, 2], f32>"});
}

TEST(Import, RecordsGuards) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "seq")
      .floats("table", {4}, {1, 2, 3, 4})
      .integers("zero", {0})
      .node("Shape", {"x"}, {"end"})
      .node("Slice", {"table", "zero", "end"}, {"positions"})
      .node("Add", {"x", "positions"})
      .output("y");
  expectImports(model.import(),
                {"#smelt.guard<<seq> less_equal <4>", "smelt.slice", "<[seq], f32>"});
}

TEST(Import, InitializersAreConstantsOrWeights) {
  std::vector<float> values(256);
  for (size_t index = 0; index < values.size(); ++index)
    values[index] = static_cast<float>(index);
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "256")
      .floats("large", {256}, values)
      .floats("untrained", {256}, std::vector<float>(256, 1.0f))
      .floats("uniform", {1, 256}, std::vector<float>(256, 2.0f))
      .node("Add", {"x", "large"}, {"sum"})
      .node("Mul", {"sum", "untrained"}, {"scaled"})
      .node("Mul", {"scaled", "uniform"})
      .output("y");
  expectImports(model.import(),
                {R"(smelt.weight "large" <"", 0, 1024, ")", "smelt.constant dense<1.000000e+00>",
                 "smelt.constant dense<2.000000e+00>"});
}

TEST(Import, UniformVectorsOfAStructureOnlyModelAreDrawn) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "batch 256")
      .floats("bias", {256}, std::vector<float>(256, 0.0f))
      .floats("table", {1, 256}, std::vector<float>(256, 2.0f))
      .floats("missing", {256}, {})
      .node("Add", {"x", "bias"}, {"sum"})
      .node("Mul", {"sum", "table"}, {"scaled"})
      .node("Mul", {"scaled", "missing"})
      .output("y");
  onnx_wire::Tensor &missing = model.lastInitializer();
  missing.set_data_location(onnx_wire::Tensor::EXTERNAL);
  onnx_wire::StringEntry *location = missing.add_external_data();
  location->set_key("location");
  location->set_value("nowhere.bin");
  ImportOptions options;
  options.drawMissingWeights = true;
  expectImports(model.import(options),
                {R"(smelt.weight "bias" <"", 0, 1024, ")", "smelt.constant dense<2.000000e+00>",
                 R"(smelt.weight "missing" <"nowhere.bin", 0, 1024, "">)"});
  // With every weight there is nothing to draw.
  missing.clear_external_data();
  missing.set_data_location(onnx_wire::Tensor::DEFAULT);
  for (int i = 0; i < 256; ++i)
    missing.add_float_data(static_cast<float>(i));
  expectImports(model.import(options),
                {"smelt.constant dense<0.000000e+00>", R"(smelt.weight "missing" <"", 0, )"});
}

TEST(Import, PinsShapes) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "batch 3").node("Relu", {"x"}).output("y");
  ImportOptions options;
  options.inputShapes = {{"x", {5, -1}}};
  expectImports(model.import(options), {"%arg0: !smelt.tensor<[5, 3], f32>"});
}

TEST(Import, ShapesForInputsThatDeclareNone) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "batch 3")
      .input("z", DataType::FLOAT, "")
      .node("Relu", {"x"})
      .output("y");
  model.graph().mutable_input(1)->mutable_type()->mutable_tensor_type()->clear_shape();
  expectFails(model.import(), {"input 'z'", "declares no shape", "--shape z=1x128"});
  ImportOptions options;
  options.undeclaredShapes = {{"x", {5, 5}}, {"z", {2, -1}}}; // of x, which declares one, nothing
  expectImports(model.import(options),
                {"%arg0: !smelt.tensor<[batch, 3], f32>", "%arg1: !smelt.tensor<[2, z_d1], f32>"});
}

/// Relu of x, float [batch, 3], by way of "a", with a declared type of one of its values.
ModelBuilder declaring(const std::string &value, int32_t type, const std::vector<int64_t> &shape) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "batch 3")
      .node("Relu", {"x"}, {"a"})
      .named("first")
      .node("Neg", {"a"})
      .named("second")
      .output("y");
  onnx_wire::ValueInfo &info =
      value == "y" ? *model.graph().mutable_output(0) : *model.graph().add_value_info();
  info.set_name(value);
  info.mutable_type()->mutable_tensor_type()->set_elem_type(type);
  for (int64_t size : shape)
    info.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(size);
  return model;
}

TEST(Import, DeclaredTypesMustBeTheInferredOnes) {
  expectFails(declaring("y", DataType::INT64, {1, 3}).import(),
              {"second", "output 'y' is declared int64 [1, 3], but it is float [batch, 3]"});
  // Of a shape that is declared wrongly Smelt only warns.
  for (const char *name : {"a", "y"})
    EXPECT_TRUE(declaring(name, DataType::FLOAT, {1, 4}).import().succeeded);
  EXPECT_NE(
      declaring("a", DataType::FLOAT, {1, 4})
          .import()
          .diagnostics.find(
              "output 'a' is declared float [1, 4], but it is float [batch, 3]; the declaration"),
      std::string::npos);
  EXPECT_TRUE(declaring("a", DataType::FLOAT, {3}).import().succeeded);
  ModelBuilder passed;
  passed.input("x", DataType::FLOAT, "3").output("x");
  passed.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
      DataType::STRING);
  expectFails(passed.import(), {"the output 'x' is declared string, but it is float [3]"});
}

TEST(Import, WhatOneSideDoesNotKnowIsNoContradiction) {
  // A number for a symbol, an unknown type or size, and other sizes than the export's.
  EXPECT_TRUE(declaring("a", DataType::FLOAT, {7, 3}).import().succeeded);
  EXPECT_TRUE(declaring("a", DataType::UNDEFINED, {-1, 3}).import().succeeded);
  ImportOptions options;
  options.inputShapes = {{"x", {5, -1}}};
  EXPECT_TRUE(declaring("y", DataType::FLOAT, {1, 3}).import(options).succeeded);
}

TEST(Import, AnOutputThatIsListedTwiceIsOne) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "3").node("Relu", {"x"}).output("y").output("x").output("y");
  expectImports(model.import(),
                {R"(smelt.name = "y"}, !smelt.tensor<[3], f32> {smelt.name = "x"}))"});
}

} // namespace
} // namespace smelt::test
