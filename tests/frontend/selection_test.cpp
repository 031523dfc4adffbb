#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder topK(int64_t opset, int64_t count) {
  ModelBuilder model(opset);
  model.input("x", DataType::FLOAT, "batch 9 4").output("y").output("at").integers("k", {count});
  return model.node("TopK", {"x", "k"}, {"y", "at"});
}

TEST(Selection, TheAxisMovesToTheEnd) {
  expectImports(topK(11, 3).attribute("axis", 1).import(),
                {"smelt.transpose %arg0 [0, 2, 1]", "smelt.top_k", "axis 2",
                 "-> <[batch, 4, 3], f32>, <[batch, 4, 3], i64>", "smelt.transpose"});
  expectImports(topK(11, 3).attribute("largest", 0).import(),
                {"smelt.top_k %arg0 axis 2 smallest"});
}

TEST(Selection, CountIsAnAttributeInOldModels) {
  ModelBuilder model(9);
  model.input("x", DataType::FLOAT, "batch 9").output("y").output("at");
  expectImports(model.node("TopK", {"x"}, {"y", "at"}).attribute("k", 2).import(),
                {"smelt.top_k %arg0 axis 1 : <[batch, 9], f32> -> <[batch, 2], f32>"});
}

TEST(Selection, CountMayBeASize) {
  ModelBuilder model(13);
  model.input("x", DataType::FLOAT, "batch 9").input("z", DataType::FLOAT, "count");
  model.output("y").output("at").node("Shape", {"z"}, {"k"}).node("TopK", {"x", "k"}, {"y", "at"});
  expectImports(model.import(), {"smelt.guards", "less_equal", "-> <[batch, count], f32>"});
}

TEST(Selection, RefusesMoreThanThereAre) { expectFails(topK(11, 5).import(), {"needs 5 <= 4"}); }

ModelBuilder arg(const std::string &op) {
  ModelBuilder model(13);
  model.input("x", DataType::FLOAT, "batch 9 4").output("y");
  return model.node(op, {"x"}).attribute("axis", 1);
}

TEST(Selection, ThePlaceOfAnExtreme) {
  expectImports(arg("ArgMax").import(),
                {"smelt.transpose %arg0 [0, 2, 1]", "axis 2 : <[batch, 4, 9], f32>",
                 "<[batch, 4, 1], i64>", "smelt.transpose"});
  expectImports(arg("ArgMin").attribute("keepdims", 0).import(),
                {"smelt.top_k", "smallest", "-> <[batch, 4], i64>"});
}

TEST(Selection, TheLastPlaceOfAnExtreme) {
  expectImports(arg("ArgMax").attribute("select_last_index", 1).import(),
                {"smelt.slice %arg0", "steps [1, -1, 1]", "smelt.top_k", "smelt.sub"});
}

} // namespace
} // namespace smelt::test
