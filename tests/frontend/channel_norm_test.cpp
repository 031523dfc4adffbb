#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

/// A norm of x with a scale and a bias of `channels` values.
ModelBuilder channelNorm(const std::string &op, int64_t opset, const std::string &shape,
                         const std::string &channels) {
  ModelBuilder model(opset);
  model.input("x", DataType::FLOAT, shape)
      .input("s", DataType::FLOAT, channels)
      .input("b", DataType::FLOAT, channels)
      .node(op, {"x", "s", "b"})
      .output("y");
  return model;
}

TEST(ChannelNorm, InstanceNormIsALayerNormOfEachChannel) {
  expectImports(channelNorm("InstanceNormalization", 22, "n 3 h 5", "3").import(),
                {"smelt.layer_norm %arg0 axis 2", "<[3, 1, 1], f32>", "smelt.mul", "smelt.add",
                 "-> <[n, 3, h, 5], f32>"});
  expectImports(channelNorm("InstanceNormalization", 22, "n 3", "3").import(),
                {"<[n, 3, 1], f32>", "smelt.layer_norm", "axis 2", "-> <[n, 3], f32>"});
  expectImports(channelNorm("InstanceNormalization", 22, "n c h", "3").import(),
                {"%arg0: !smelt.tensor<[n, 3, h], f32>"});
  expectFails(channelNorm("InstanceNormalization", 22, "n 3 h", "4").import(), {"3", "4"});
}

TEST(ChannelNorm, GroupNormScalesGroupsAtFirstAndChannelsLater) {
  expectImports(
      channelNorm("GroupNormalization", 18, "n 6 h", "2").attribute("num_groups", 2).import(),
      {"<[n, 2, 3, h], f32>", "smelt.layer_norm", "<[2, 1, 1], f32>", "smelt.mul", "smelt.add",
       "-> <[n, 6, h], f32>"});
  expectImports(
      channelNorm("GroupNormalization", 21, "n 6 h", "6").attribute("num_groups", 2).import(),
      {"<[n, 2, 3, h], f32>", "smelt.layer_norm", "<[2, 3, 1], f32>", "smelt.mul", "smelt.add"});
  expectFails(
      channelNorm("GroupNormalization", 21, "n 6 h", "6").attribute("num_groups", 4).import(),
      {"do not make 4 groups"});
  expectFails(channelNorm("GroupNormalization", 21, "n 6 h", "6").import(), {"0 groups"});
}

ModelBuilder batchNorm(int64_t opset, const std::string &channels,
                       const std::vector<std::string> &outputs = {"y"}) {
  ModelBuilder model(opset);
  model.input("x", DataType::FLOAT16, "n 3 4");
  for (const char *name : {"s", "b", "m", "v"})
    model.input(name, DataType::FLOAT16, channels);
  model.node("BatchNormalization", {"x", "s", "b", "m", "v"}, outputs);
  for (const std::string &output : outputs)
    model.output(output);
  return model;
}

TEST(ChannelNorm, BatchNormOfGivenStatistics) {
  expectImports(batchNorm(15, "3").import(), {"smelt.cast %arg0", "<[3, 1], f16>", "smelt.rsqrt",
                                              "smelt.sub", "smelt.mul", "smelt.add", "smelt.cast"});
  expectImports(batchNorm(7, "3 4").attribute("spatial", 0).import(), {"smelt.rsqrt", "<[3, 4]"});
  expectFails(batchNorm(15, "4").import(), {"BatchNormalization"});
}

TEST(ChannelNorm, BatchNormInTraining) {
  expectImports(
      batchNorm(14, "3", {"y", "mean", "variance"}).attribute("training_mode", 1).import(),
      {"smelt.reduce mean", "axes [0, 2]", "smelt.reduce mean", "-> <[3], f16>"});
  expectFails(batchNorm(14, "3", {"y", "mean", "variance"}).import(),
              {"its output 'mean' is not supported"});
}

TEST(ChannelNorm, ResponseOverNeighbouringChannels) {
  ModelBuilder model(13);
  model.input("x", DataType::FLOAT, "n 5 h").node("LRN", {"x"}).attribute("size", 4).output("y");
  expectImports(model.import(),
                {"smelt.mul %arg0, %arg0", "smelt.concat", "<[n, 8, h], f32>", "smelt.windows",
                 "-> <[n, 5, 4, h], f32>", "smelt.reduce sum", "smelt.pow", "smelt.div %arg0"});
}

} // namespace
} // namespace smelt::test
