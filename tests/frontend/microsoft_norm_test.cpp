#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

#include <map>

namespace smelt::test {
namespace {

ModelBuilder skipNorm(const std::string &op,
                      const std::vector<std::pair<std::string, std::string>> &inputs,
                      const std::vector<std::string> &outputs = {"y"}) {
  return microsoftNode(op, halfPorts(inputs), outputs);
}

TEST(MicrosoftNorm, SkipNorms) {
  expectImports(skipNorm("SkipLayerNormalization",
                         {{"x", "b s 8"}, {"k", "s 8"}, {"g", "8"}, {"h", "8"}, {"i", "8"}},
                         {"y", "", "", "sum"})
                    .import(),
                {"smelt.add %arg0, %arg1", "smelt.add %0, %arg4", "smelt.layer_norm %1 scale %arg2",
                 "bias %arg3", "axis 2", "9.99999996E-13", "return %2, %1"});
  expectImports(
      skipNorm("SkipSimplifiedLayerNormalization", {{"x", "b s 8"}, {"k", "b s 8"}, {"g", "8"}})
          .import(),
      {"smelt.add %arg0, %arg1", "smelt.rms_norm %0 scale %arg2"});
  expectFails(
      skipNorm("SkipLayerNormalization", {{"x", "s 8"}, {"k", "2 s 8"}, {"g", "8"}}).import(),
      {"does not broadcast"});
  expectFails(skipNorm("SkipLayerNormalization", {{"x", "b s 8"}, {"k", "b s 8"}, {"g", "8"}},
                       {"y", "mean"})
                  .import(),
              {"its output 'mean' is not supported"});
}

TEST(MicrosoftNorm, GroupNorms) {
  auto groups = [](const std::string &op,
                   const std::vector<std::pair<std::string, std::string>> &inputs, int64_t last) {
    return skipNorm(op, inputs)
        .attribute("groups", 2)
        .attribute("activation", 1)
        .attribute("channels_last", last)
        .import();
  };
  expectImports(groups("GroupNorm", {{"x", "n h w 4"}, {"g", "4"}, {"b", "4"}}, 1),
                {"smelt.transpose %arg0 [0, 3, 1, 2]", "smelt.layer_norm", "smelt.silu",
                 "smelt.transpose", "[0, 2, 3, 1]"});
  expectImports(groups("SkipGroupNorm",
                       {{"x", "n 4 h w"}, {"g", "4"}, {"b", "4"}, {"k", "n 4"}, {"i", "4"}}, 0),
                {"smelt.reshape %arg3", "<[n, 4, 1, 1], f16>", "smelt.add", "smelt.add",
                 "smelt.layer_norm", "smelt.silu"});
}

ModelBuilder embedding(std::vector<std::string> more = {}) {
  ModelBuilder model(12);
  model.input("ids", DataType::INT32, "b 3").input("segments", DataType::INT32, "b 3");
  model.input("mask", DataType::INT32, "b 3").input("places", DataType::INT32, "b 3");
  for (const auto &[name, shape] : std::map<std::string, std::string>{
           {"words", "50 8"}, {"rows", "4 8"}, {"kinds", "2 8"}, {"g", "8"}, {"h", "8"}})
    model.input(name, DataType::FLOAT16, shape);
  std::vector<std::string> inputs{"ids", "segments", "words", "rows", "kinds", "g", "h"};
  inputs.insert(inputs.end(), more.begin(), more.end());
  model.node("EmbedLayerNormalization", inputs, {"y", "count", "sum"});
  model.lastNode().set_domain("com.microsoft");
  return model.output("y").output("count").output("sum");
}

TEST(MicrosoftNorm, OfEmbeddings) {
  expectImports(embedding().import(), {"smelt.slice", "smelt.gather", "smelt.add", "smelt.gather",
                                       "smelt.add", "<[b], i32>", "smelt.layer_norm"});
  expectImports(
      embedding({"mask", "places"}).import(),
      {"smelt.gather", "smelt.gather", "smelt.equal %", "smelt.reduce sum", "smelt.layer_norm"});
  ModelBuilder model = embedding();
  model.lastNode().set_input(4, "");
  expectFails(model.import(), {"needs a table of segments beside the segments"});
  model = embedding();
  model.lastNode().set_input(6, "");
  expectFails(model.import(), {"input 6 is missing"});
}

} // namespace
} // namespace smelt::test
