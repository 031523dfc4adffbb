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

} // namespace
} // namespace smelt::test
