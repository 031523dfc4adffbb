#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder elements(const std::string &updates = "batch 4", int64_t opset = 18) {
  ModelBuilder model(opset);
  model.input("x", DataType::FLOAT, "batch 9").input("i", DataType::INT64, "batch 4");
  model.input("u", DataType::FLOAT, updates).output("y");
  return model.node("ScatterElements", {"x", "i", "u"}).attribute("axis", -1);
}

ModelBuilder slices(const std::string &indices, const std::string &updates) {
  ModelBuilder model(18);
  model.input("x", DataType::FLOAT, "7 9 5").input("i", DataType::INT64, indices);
  model.input("u", DataType::FLOAT, updates).output("y");
  return model.node("ScatterND", {"x", "i", "u"});
}

TEST(Scatter, ElementsReplaceOrCombine) {
  expectImports(elements().import(), {"smelt.scatter_elements %arg0, %arg1, %arg2 axis 1 :"});
  for (auto [name, kind] :
       {std::pair("add", "sum"), {"mul", "prod"}, {"max", "max"}, {"min", "min"}})
    expectImports(elements().attribute("reduction", name).import(),
                  {std::string("axis 1 by ") + kind});
  expectFails(elements().attribute("reduction", "mean").import(), {"'mean' is none of none, add"});
}

TEST(Scatter, ShapesMustFit) {
  expectFails(elements("batch 3").import(), {"there is an update for each index"});
  expectFails(elements("batch").import(), {"must have the same rank"});
  expectFails(slices("4 2", "4 9").import(), {"there is an update for each index"});
  expectFails(slices("4 n", "4 5").import(), {"the last size of its indices must be constant"});
}

TEST(Scatter, Slices) {
  expectImports(slices("4 2", "4 5").import(), {"smelt.scatter_nd %arg0, %arg1, %arg2 :"});
  expectImports(slices("n 1", "n 9 5").attribute("reduction", "add").import(), {"by sum"});
}

TEST(Scatter, BoolsAreNotCombined) {
  ModelBuilder model(18);
  model.input("x", DataType::BOOL, "9").input("i", DataType::INT64, "4");
  model.input("u", DataType::BOOL, "4").output("y");
  expectFails(model.node("ScatterElements", {"x", "i", "u"}).attribute("reduction", "add").import(),
              {"does not combine bools"});
}

TEST(Scatter, RowsOfACache) {
  ModelBuilder model(24);
  model.input("cache", DataType::FLOAT, "batch 2 16 8")
      .input("row", DataType::FLOAT, "batch 2 3 8");
  model.input("at", DataType::INT64, "batch").output("y");
  model.node("TensorScatter", {"cache", "row", "at"}).attribute("mode", "circular");
  expectImports(model.import(),
                {"smelt.iota : <[3], i64>", "smelt.add", "smelt.mod", "smelt.expand",
                 "<[batch, 2, 3, 8], i64>", "smelt.scatter_elements", "axis 2 :"});
}

} // namespace
} // namespace smelt::test
