#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

/// Four heads of queries of 8 elements; keys and values of 8 and 6 for two.
ModelBuilder linearAttention(const std::vector<std::string> &more, const std::string &rule,
                             const std::string &length = "2", int type = DataType::FLOAT) {
  ModelBuilder model(27);
  model.input("q", type, "batch " + length + " 32").input("k", type, "batch " + length + " 16");
  model.input("v", type, "batch " + length + " 12");
  std::vector<std::string> inputs{"q", "k", "v"};
  inputs.insert(inputs.end(), more.begin(), more.end());
  model.node("LinearAttention", inputs, {"y", "present"}).attribute("q_num_heads", 4);
  model.attribute("kv_num_heads", 2).attribute("update_rule", rule);
  return model.output("y").output("present");
}

TEST(LinearAttention, TheStateTakesInOneKeyAStep) {
  expectImports(linearAttention({}, "linear").import(),
                {"<[batch, 2, 2, 2, 8], f32>", "smelt.expand", "<[batch, 2, 8, 6], f32>",
                 "smelt.mul", "smelt.add", "smelt.matmul", "-> <[batch, 2, 2, 6], f32>",
                 "smelt.add", "smelt.matmul", "smelt.concat", "-> <[batch, 2, 24], f32>"});
}

TEST(LinearAttention, DecaysAndCorrects) {
  ModelBuilder model = linearAttention({"past", "g", "b"}, "gated_delta", "1", DataType::FLOAT16);
  model.input("past", DataType::FLOAT, "batch 2 8 6").input("g", DataType::FLOAT16, "batch 1 2");
  expectImports(model.input("b", DataType::FLOAT16, "batch 1 1").import(),
                {"smelt.exp", "smelt.mul", "smelt.matmul", "<[batch, 2, 1, 6], f32>", "smelt.sub",
                 "smelt.mul", "smelt.add", "smelt.matmul", "f16>", "return"});
}

TEST(LinearAttention, DecaysForEachElementOfTheKey) {
  ModelBuilder model = linearAttention({"", "g"}, "gated");
  expectImports(model.input("g", DataType::FLOAT, "batch 2 16").import(),
                {"smelt.exp", "<[batch, 2, 2, 8, 1], f32>"});
}

TEST(LinearAttention, RefusesWhatItCannotUnrollOrDoesNotFit) {
  expectFails(linearAttention({}, "linear", "length").import(),
              {"a sequence of length steps is not supported: its length must be constant"});
  expectFails(linearAttention({}, "delta").import(), {"update_rule 'delta' needs beta (input 5)"});
  expectFails(linearAttention({}, "square").import(), {"update_rule 'square' is none of linear"});
  expectFails(
      linearAttention({"past"}, "linear").input("past", DataType::FLOAT, "batch 4 8 6").import(),
      {"queries, keys, values and state fit"});
}

} // namespace
} // namespace smelt::test
