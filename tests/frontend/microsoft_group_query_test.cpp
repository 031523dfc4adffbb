#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

using Ports = std::vector<std::pair<std::string, std::string>>;

/// Inputs by name and shape: "last" and "total" are int32, "places" int64, the others float16.
ModelBuilder microsoftModel(const std::string &op, const Ports &inputs,
                            const std::vector<std::string> &outputs = {"y"}) {
  ModelBuilder model(20);
  model.opset("com.microsoft", 1);
  std::vector<std::string> names;
  for (const auto &[name, shape] : inputs) {
    names.push_back(name == "total" ? "all" : name);
    bool isCount = name == "last" || name == "total";
    if (!name.empty())
      model.input(name,
                  isCount            ? DataType::INT32
                  : name == "places" ? DataType::INT64
                                     : DataType::FLOAT16,
                  shape);
    if (name == "total") // its length is the number of all tokens
      model.node("Size", {"total"}, {"size"}).node("Cast", {"size"}, {"all"}).attribute("to", 6);
  }
  model.node(op, names, outputs);
  model.lastNode().set_domain("com.microsoft");
  for (const std::string &output : outputs)
    model.output(output);
  return model;
}

ModelBuilder group(const Ports &inputs, const std::vector<std::string> &outputs = {"y"}) {
  return microsoftModel("GroupQueryAttention", inputs, outputs)
      .attribute("num_heads", 4)
      .attribute("kv_num_heads", 2);
}

const Ports kPrompt{{"q", "b s 32"}, {"k", "b s 16"}, {"v", "b s 16"}, {"", ""},
                    {"", ""},        {"last", "b"},   {"total", "s"}};
const Ports kDecoding{{"q", "b s 32"},   {"k", "b s 16"}, {"v", "b s 16"}, {"pk", "b 2 p 8"},
                      {"pv", "b 2 p 8"}, {"last", "b"},   {"total", "t"}};

TEST(MicrosoftGroupQuery, WithoutACache) {
  expectImports(group(kPrompt, {"y", "key", "value"}).import(),
                {"smelt.attention", "causal", "<[b, 4, s, 8], f16>", "-> <[b, s, 32], f16>"});
  Ports packed = kPrompt;
  packed[0].second = "b s 64";
  packed[1] = packed[2] = {"", ""};
  expectImports(group(packed).import(), {"smelt.slice", "smelt.attention", "causal"});
  packed[0].second = "b s 63";
  expectFails(group(packed).import(), {"cannot cut", "into 4 and twice 2 heads"});
}

TEST(MicrosoftGroupQuery, StoresBehindWhatEachSequenceHolds) {
  expectImports(group(kDecoding, {"y", "key", "value"}).import(),
                {"smelt.max", "smelt.scatter_elements", "[b, 2, t, 8]", "smelt.less_equal",
                 "smelt.select", "smelt.attention", "bias"});
  Ports half = kDecoding;
  half[4] = {"", ""};
  expectFails(group(half).import(), {"both past_key and past_value"});
}

TEST(MicrosoftGroupQuery, WindowsAndTurns) {
  expectImports(group(kPrompt).attribute("local_window_size", 3).import(),
                {"smelt.less_equal", "dense<-2>", "smelt.attention", "bias"});
  Ports turned = kDecoding;
  turned.insert(turned.end(), {{"cos", "m 4"}, {"sin", "m 4"}});
  expectImports(group(turned).attribute("do_rotary", 1).import(),
                {"smelt.gather", "smelt.gather", "smelt.sub", "smelt.concat", "smelt.attention"});
}

TEST(MicrosoftGroupQuery, RefusesWhatItLacks) {
  expectFails(microsoftModel("GroupQueryAttention", kPrompt).import(),
              {"num_heads and kv_num_heads"});
  expectFails(group(kPrompt).attribute("smooth_softmax", 1).import(), {"smooth_softmax"});
  Ports sinks = kPrompt;
  sinks.insert(sinks.end(), {{"", ""}, {"", ""}, {"", ""}, {"", ""}, {"sinks", "4"}});
  expectFails(group(sinks).import(), {"its input 11", "is not supported"});
}

TEST(MicrosoftGroupQuery, Turns) {
  auto rotary = [](const std::string &x, const std::string &places) {
    return microsoftModel("RotaryEmbedding",
                          {{"x", x}, {"places", places}, {"cos", "m 4"}, {"sin", "m 4"}});
  };
  expectImports(rotary("b 2 s 8", "b s").import(),
                {"smelt.gather", "smelt.mul", "smelt.concat", "-> <[b, 2, s, 8], f16>"});
  // The first position alone; the size of a head is that of the table.
  expectImports(rotary("b s 16", "1").import(),
                {"smelt.iota", "smelt.add", "smelt.gather", "-> <[b, s, 16], f16>"});
  expectFails(rotary("b 2 s 4", "b s").import(), {"do not fit heads of 4 elements"});
  expectFails(rotary("b 2 s 8", "b s").attribute("scale", 2.0f).import(), {"are not supported"});
}

} // namespace
} // namespace smelt::test
