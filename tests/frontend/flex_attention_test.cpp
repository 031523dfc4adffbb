#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder flexAttention(int type = DataType::FLOAT, const std::string &heads = "2") {
  ModelBuilder model(26);
  model.opset("ai.onnx.preview", 1).input("q", type, "batch 4 5 16");
  model.input("k", type, "batch " + heads + " 6 16").input("v", type, "batch " + heads + " 6 8");
  model.node("FlexAttention", {"q", "k", "v"}).lastNode().set_domain("ai.onnx.preview");
  return model.output("y");
}

/// Applies one node to what it is given.
ModelBuilder modifier(const std::string &op) {
  ModelBuilder graph;
  graph.input("in", DataType::FLOAT, "b h l s").node(op, {"in"}, {"out"});
  return graph.output("out");
}

TEST(FlexAttention, WithoutGraphsItIsAttention) {
  expectImports(flexAttention().import(), {"smelt.attention %arg0, %arg1, %arg2", "2.5"});
}

TEST(FlexAttention, ScoresAndProbabilitiesPassThroughGraphs) {
  ModelBuilder model = flexAttention(DataType::FLOAT16);
  model.attribute("score_mod", modifier("Tanh")).attribute("prob_mod", modifier("Sqrt"));
  expectImports(model.import(), {"smelt.matmul", "-> <[batch, 2, 2, 5, 6], f16>", "smelt.cast",
                                 "smelt.tanh", "smelt.softmax", "<[batch, 4, 5, 6], f32>",
                                 "smelt.sqrt", "smelt.matmul", "smelt.cast", "f16>"});
}

TEST(FlexAttention, RefusesWhatDoesNotFit) {
  expectFails(flexAttention(DataType::FLOAT, "3").import(),
              {"the heads of 'q' (float [batch, 4, 5, 16]) must be a multiple"});
  expectFails(flexAttention().attribute("score_mod", modifier("Shape")).import(),
              {"its graph 'score_mod' must give back the shape and type that it takes"});
  expectFails(flexAttention().attribute("softmax_precision", 7).import(),
              {"its softmax_precision 7 is no float type"});
}

} // namespace
} // namespace smelt::test
