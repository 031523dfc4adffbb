#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder blocks(const std::string &op, const std::string &shape, const std::string &mode) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, shape)
      .node(op, {"x"})
      .attribute("blocksize", 2)
      .attribute("mode", mode)
      .output("y");
  return model;
}

TEST(Blocks, DepthToSpaceInBothOrders) {
  expectImports(
      blocks("DepthToSpace", "n 8 h w", "DCR").import(),
      {"-> <[n, 2, 2, 2, h, w], f32>", "[0, 3, 4, 1, 5, 2]", "-> <[n, 2, 2*h, 2*w], f32>"});
  expectImports(blocks("DepthToSpace", "n 8 h w", "CRD").import(), {"[0, 1, 4, 2, 5, 3]"});
  expectFails(blocks("DepthToSpace", "n 6 h w", "DCR").import(), {"needs 4 = 6"});
  expectFails(blocks("DepthToSpace", "n 8 h", "DCR").import(), {"four axes"});
}

TEST(Blocks, SpaceToDepth) {
  expectImports(blocks("SpaceToDepth", "n 3 4 6", "DCR").import(),
                {"-> <[n, 3, 2, 2, 3, 2], f32>", "[0, 3, 5, 1, 2, 4]", "-> <[n, 12, 2, 3], f32>"});
  expectFails(blocks("SpaceToDepth", "n 3 5 6", "DCR").import(), {"needs 4 = 5"});
  expectFails(blocks("SpaceToDepth", "n 3 4 6", "RCD").import(), {"mode 'RCD' is unknown"});
}

TEST(Blocks, ReverseSequenceReadsBackwardsUpToEachLength) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT16, "time batch 8")
      .input("lengths", DataType::INT64, "batch")
      .node("ReverseSequence", {"x", "lengths"})
      .output("y");
  expectImports(model.import(), {"smelt.less", "smelt.select", "smelt.gather_elements", "axis 0",
                                 "-> <[time, batch, 8], f16>"});
  model.attribute("batch_axis", 0);
  expectFails(model.import(), {"needs a batch and a time axis"});
}

} // namespace
} // namespace smelt::test
