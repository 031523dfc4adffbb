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

TEST(Import, RecordsGuards) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "seq")
      .floats("table", {4}, {1, 2, 3, 4})
      .integers("zero", {0})
      .node("Shape", {"x"}, {"end"})
      .node("Slice", {"table", "zero", "end"}, {"positions"})
      .node("Add", {"x", "positions"})
      .output("y");
  expectImports(model.import(), {"left = #smelt.dim<seq>", R"(relation = "less_equal")",
                                 "right = #smelt.dim<4>", "smelt.slice", "<[seq], f32>"});
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
                {R"(smelt.weight "large" <"", 0, 1024, ")", R"(smelt.weight "untrained" <"", )",
                 "smelt.constant dense<2.000000e+00>"});
}

TEST(Import, PinsShapes) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "batch 3").node("Relu", {"x"}).output("y");
  ImportOptions options;
  options.inputShapes = {{"x", {5, -1}}};
  expectImports(model.import(options), {"%arg0: !smelt.tensor<[5, 3], f32>"});
}

} // namespace
} // namespace smelt::test
