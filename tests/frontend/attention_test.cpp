#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder attention(const std::string &query, const std::string &key,
                       std::vector<std::string> inputs = {"q", "k", "v"}) {
  ModelBuilder model(24);
  model.input("q", DataType::FLOAT16, query)
      .input("k", DataType::FLOAT16, key)
      .input("v", DataType::FLOAT16, key);
  model.node("Attention", inputs).named("attend").output("y");
  return model;
}

TEST(Attention, FourAxes) {
  auto model = attention("b 12 s 64", "b 4 t 64");
  expectImports(model.import(), {"smelt.attention %arg0, %arg1, %arg2", "scale = 1.250000e-01",
                                 "-> <[b, 12, s, 64], f16>"});
}

TEST(Attention, ThreeAxesSplitTheHeads) {
  auto model = attention("b s 96", "b t 32");
  model.attribute("q_num_heads", 6).attribute("kv_num_heads", 2).attribute("scale", 0.5f);
  expectImports(model.import(),
                {"smelt.reshape %arg0", "[b, s, 6, 16]", "smelt.transpose", "smelt.attention",
                 "scale = 5.0", "smelt.transpose", "-> <[b, s, 96], f16>"});
  expectFails(attention("b s 96", "b t 32").import(),
              {"attend", "into 0 heads (attribute 'q_num_heads')"});
}

TEST(Attention, CausalWhereSizesAgree) {
  expectImports(attention("b 2 s 8", "b 2 s 8").attribute("is_causal", 1).import(),
                {"smelt.attention", "causal"});
  // Query i sees key j <= i, also where there are more keys than queries: not what `causal` means
  // in the IR.
  expectImports(attention("b 2 3 8", "b 2 5 8").attribute("is_causal", 1).import(),
                {"smelt.less_equal", "smelt.select", "bias", "zero_masked_rows"});
}

TEST(Attention, MasksAreBiases) {
  auto model = attention("b 2 s 8", "b 2 t 8", {"q", "k", "v", "mask"});
  model.input("mask", DataType::BOOL, "s t");
  expectImports(model.import(), {"smelt.select %arg3", "smelt.reshape", "[1, 1, s, t]",
                                 "smelt.attention", "zero_masked_rows"});
  auto additive = attention("b 2 s 8", "b 2 t 8", {"q", "k", "v", "mask"});
  additive.input("mask", DataType::FLOAT, "b 1 1 t");
  expectImports(additive.import(), {"smelt.cast %arg3", "smelt.attention"});
}

TEST(Attention, ShortMasksHideTheRest) {
  auto model = attention("b 2 3 8", "b 2 5 8", {"q", "k", "v", "mask"});
  model.input("mask", DataType::FLOAT16, "3 4");
  expectImports(model.import(), {"0xFC00", "smelt.concat", "-> <[1, 1, 3, 5], f16>"});
}

TEST(Attention, CachesArePrepended) {
  auto model = attention("b 2 1 8", "b 2 1 8", {"q", "k", "v", "", "pk", "pv"});
  model.input("pk", DataType::FLOAT16, "b 2 past 8").input("pv", DataType::FLOAT16, "b 2 past 8");
  model.lastNode().add_output("key");
  model.lastNode().add_output("value");
  model.attribute("is_causal", 1).output("key").output("value");
  expectImports(model.import(), {"smelt.concat %arg3, %arg1 axis 2", "[b, 2, past + 1, 8]",
                                 "smelt.attention", "causal"});
}

TEST(Attention, ValidKeysLimitWhatIsSeen) {
  auto model = attention("b 2 s 8", "b 2 t 8", {"q", "k", "v", "", "", "", "valid"});
  model.input("valid", DataType::INT64, "b");
  expectImports(model.import(), {"smelt.less", "smelt.select", "smelt.attention", "bias"});
}

TEST(Attention, RefusesWhatDoesNotFit) {
  expectFails(attention("b 2 s 8", "b 2 t 4").import(), {"needs 8 = 4", "one head size"});
  expectFails(attention("b 3 s 8", "b 2 t 8").import(), {"multiple of key heads"});
  expectFails(attention("b 2 s 8", "b 2 t 8", {"q", "k", "v", "", "k"}).import(),
              {"both past_key and past_value"});
  for (const char *shape : {"3 8", "2 2 3 5", "b 2 2 5", "b 1 1 5 5"}) {
    auto masked = attention("1 2 3 8", "1 2 5 8", {"q", "k", "v", "mask"});
    masked.input("mask", DataType::FLOAT16, shape);
    EXPECT_FALSE(masked.import().succeeded) << shape;
  }
  auto wide = attention("b 2 3 8", "b 2 5 8", {"q", "k", "v", "mask"});
  wide.input("mask", DataType::FLOAT16, "3 8");
  expectFails(wide.import(), {"needs 8 = 5", "the mask broadcasts to the scores"});
}

ModelBuilder withScores(const std::string &query, const std::string &key, int64_t mode) {
  ModelBuilder model = attention(query, key);
  for (const char *output : {"", "", "scores"})
    model.lastNode().add_output(output);
  return model.output("scores").attribute("qk_matmul_output_mode", mode);
}

TEST(Attention, ScoresOnTheWay) {
  expectImports(
      withScores("b 4 s 8", "b 2 t 8", 0).import(),
      {"smelt.matmul", "<[b, 2, 2, s, 8], f16>", "<[b, 4, s, t], f16>", "smelt.attention"});
  expectImports(withScores("b 2 s 8", "b 2 t 8", 1).attribute("softcap", 5.0f).import(),
                {"smelt.matmul", "smelt.div", "smelt.tanh", "smelt.mul", "smelt.attention"});
  expectImports(withScores("b 2 s 8", "b 2 s 8", 3).attribute("is_causal", 1).import(),
                {"smelt.matmul", "smelt.less_equal", "smelt.softmax", "axis 3", "smelt.equal",
                 "smelt.select", "smelt.attention"});
  expectFails(withScores("b 2 s 8", "b 2 t 8", 4).import(), {"4 is none of 0 to 3"});
}

TEST(Attention, WindowsHideWhatLiesFurther) {
  auto window = [](int64_t left, int64_t right) {
    return attention("b 2 s 8", "b 2 t 8")
        .attribute("left_window_size", left)
        .attribute("right_window_size", right);
  };
  expectImports(window(2, -1).import(), {"dense<-2>", "smelt.add", "smelt.less_equal",
                                         "smelt.select", "smelt.attention", "bias"});
  expectImports(window(2, 1).import(), {"smelt.less_equal", "smelt.select", "smelt.less_equal",
                                        "smelt.select", "smelt.add", "smelt.attention"});
  expectFails(window(-2, 0).import(), {"must be -1 or more on each side"});
}

} // namespace
} // namespace smelt::test
