#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder rotary(const std::string &input, const std::string &table, bool hasPositions) {
  ModelBuilder model(23);
  model.input("x", DataType::FLOAT16, input).output("y");
  model.input("cos", DataType::FLOAT16, table).input("sin", DataType::FLOAT16, table);
  if (!hasPositions)
    return model.node("RotaryEmbedding", {"x", "cos", "sin"});
  model.input("at", DataType::INT64, "b s");
  return model.node("RotaryEmbedding", {"x", "cos", "sin", "at"});
}

TEST(Rotary, HalvesTurnTogether) {
  expectImports(rotary("b 4 s 8", "50 4", true).import(),
                {"smelt.transpose %arg0 [0, 2, 1, 3]", "smelt.gather %arg1, %arg3 axis 0",
                 "smelt.gather %arg2, %arg3 axis 0", "smelt.slice", "smelt.slice", "smelt.mul",
                 "smelt.sub", "smelt.add", "smelt.concat", "axis 3", "<[b, s, 4, 8], f16>",
                 "smelt.transpose"});
}

TEST(Rotary, NeighboursTurnTogether) {
  expectImports(rotary("b s 32", "b s 4", false)
                    .attribute("num_heads", 4)
                    .attribute("interleaved", 1)
                    .import(),
                {"<[b, s, 32], f16> -> <[b, s, 4, 8], f16>", "steps [1, 1, 1, 2]",
                 "steps [1, 1, 1, 2]", "axis 4", "-> <[b, s, 32], f16>"});
}

TEST(Rotary, ARestStaysAsItIs) {
  expectImports(rotary("b 4 s 8", "b s 2", false).attribute("rotary_embedding_dim", 4).import(),
                {"smelt.concat", "<[b, s, 4, 4], f16>", "smelt.slice", "smelt.concat",
                 "<[b, s, 4, 8], f16>"});
}

TEST(Rotary, RefusesWhatDoesNotFit) {
  expectFails(rotary("b s 32", "b s 4", false).import(), {"and 0 heads"});
  expectFails(rotary("b 4 s 7", "b s 3", false).import(),
              {"cannot turn 7 elements of a head of 7"});
  expectFails(rotary("b 4 s 8", "b s 3", false).import(), {"there is an angle for each batch"});
  expectFails(rotary("b 4 s 8", "b s 4", true).import(), {"must have two axes beside positions"});
}

} // namespace
} // namespace smelt::test
