#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

using Ports = std::vector<std::pair<std::string, std::string>>;

/// Inputs by name and shape; names that begin with "mask" are int32, the others float16.
ModelBuilder contrib(const std::string &op, const Ports &inputs,
                     const std::vector<std::string> &outputs = {"y"}, int heads = 2) {
  std::vector<InputPort> ports = halfPorts(inputs);
  for (InputPort &port : ports)
    if (port.name.rfind("mask", 0) == 0)
      port.type = DataType::INT32;
  return microsoftNode(op, ports, outputs).attribute("num_heads", heads);
}

ModelBuilder projected(const Ports &more = {}, const std::vector<std::string> &outputs = {"y"},
                       int heads = 2) {
  Ports inputs{{"x", "b s 8"}, {"w", "8 24"}, {"bias", "24"}};
  inputs.insert(inputs.end(), more.begin(), more.end());
  return contrib("Attention", inputs, outputs, heads);
}

TEST(MicrosoftAttention, Projects) {
  expectImports(projected().import(), {"smelt.matmul", "smelt.add", "smelt.slice",
                                       "smelt.attention", "scale = 5.0", "-> <[b, s, 8], f16>"});
  expectImports(projected().attribute("unidirectional", 1).import(), {"smelt.attention", "causal"});
  expectFails(projected({}, {"y"}, 3).import(), {"cannot split 8 columns", "3 heads"});
  expectFails(projected().attribute("do_rotary", 1).import(), {"(do_rotary) is not supported"});
  expectFails(projected().attribute("past_present_share_buffer", 1).import(),
              {"(past_present_share_buffer) is not supported"});
  expectFails(contrib("Attention", {{"x", "b s 8"}, {"w", "8 23"}}).import(),
              {"cannot cut", "into three"});
}

TEST(MicrosoftAttention, ValuesMayBeWider) {
  auto model = contrib("Attention", {{"x", "b s 8"}, {"w", "8 28"}, {"bias", "28"}});
  expectImports(model.attribute("qkv_hidden_sizes", std::vector<int64_t>{8, 8, 12}).import(),
                {"smelt.attention", "-> <[b, s, 12], f16>"});
}

TEST(MicrosoftAttention, MasksAreFinite) {
  // The float16 number that is next to -10000.
  for (const char *shape : {"b", "b s", "b s s"})
    expectImports(
        projected({{"mask", shape}}).import(),
        {"smelt.less", "dense<-1.000000e+04>", "smelt.select", "smelt.attention", "bias"});
  expectImports(projected({{"mask", "b s"}}).attribute("mask_filter_value", -8.0f).import(),
                {"dense<-8.000000e+00>", "smelt.attention"});
  expectFails(projected({{"mask", "b 1 s s"}}).import(), {"one axis, two or three"});
}

TEST(MicrosoftAttention, MasksHaveStartsToo) {
  auto model = contrib("Attention", {{"x", "3 s 8"}, {"w", "8 24"}, {"bias", "24"}, {"mask", "6"}});
  expectImports(model.import(), {"smelt.less ", "smelt.less_equal", "smelt.and", "smelt.select",
                                 "smelt.attention"});
}

TEST(MicrosoftAttention, OneCacheOfBoth) {
  auto model = projected({{"", ""}, {"past", "2 b 2 p 4"}}, {"y", "present"});
  expectImports(model.attribute("unidirectional", 1).import(),
                {"smelt.slice %arg3", "smelt.concat", "[b, 2, p + s, 4]", "[2, b, 2, p + s, 4]",
                 "smelt.attention", "causal"});
  expectFails(projected({{"", ""}, {"past", "3 b 2 p 4"}}).import(), {"must be [2, batch"});
}

TEST(MicrosoftAttention, AddsABias) {
  expectImports(projected({{"", ""}, {"", ""}, {"bias4", "1 2 s s"}}).import(),
                {"smelt.attention", "bias %arg3"});
  expectFails(projected({{"", ""}, {"", ""}, {"bias4", "2 s s"}}).import(), {"four axes"});
}

ModelBuilder multiHead(const Ports &inputs, const std::vector<std::string> &outputs = {"y"},
                       int heads = 2) {
  return contrib("MultiHeadAttention", inputs, outputs, heads);
}

TEST(MicrosoftAttention, ManyLayouts) {
  Ports plain{{"q", "b s 8"}, {"k", "b t 8"}, {"v", "b t 12"}};
  expectImports(multiHead(plain).import(), {"smelt.attention", "-> <[b, s, 12], f16>"});
  expectImports(multiHead({{"q", "b s 2 3 4"}}).import(), {"smelt.slice", "smelt.attention"});
  expectImports(multiHead({{"q", "b s 8"}, {"k", "b t 2 2 4"}}).import(), {"smelt.attention"});
  expectImports(multiHead({{"q", "b s 8"}, {"k", "b 2 t 4"}, {"v", "b 2 t 4"}}).import(),
                {"smelt.attention %", "%arg1, %arg2"});
  expectFails(multiHead({{"q", "b s 8"}, {"k", "b t 8"}}).import(), {"packed ones of five"});
  expectFails(multiHead(plain, {"y"}, 3).import(), {"8 elements into 3 heads"});
}

TEST(MicrosoftAttention, BiasOfTheProjections) {
  Ports inputs{{"q", "b s 8"}, {"k", "b t 8"}, {"v", "b t 12"}, {"bias", "28"}};
  expectImports(multiHead(inputs).import(), {"smelt.slice %arg3", "smelt.add", "smelt.attention"});
  inputs.back().second = "24";
  EXPECT_FALSE(multiHead(inputs).import().succeeded);
}

TEST(MicrosoftAttention, CachesOfEach) {
  Ports inputs{{"q", "b s 8"}, {"k", "b s 8"}, {"v", "b s 8"},    {"", ""},
               {"", ""},       {"", ""},       {"pk", "b 2 p 4"}, {"pv", "b 2 p 4"}};
  expectImports(multiHead(inputs, {"y", "key", "value"}).import(),
                {"smelt.concat %arg3", "smelt.concat %arg4", "smelt.attention"});
  inputs.pop_back();
  expectFails(multiHead(inputs).import(), {"both past_key and past_value"});
}

TEST(MicrosoftAttention, OneTokenAfterACache) {
  Ports cached{{"q", "b 1 8"},          {"k", "b 1 8"}, {"v", "b 1 8"},
               {"mask", "b total"},     {"", ""},       {"past_k", "b 2 past 4"},
               {"past_v", "b 2 past 4"}};
  expectImports(
      contrib("DecoderMaskedMultiHeadAttention", cached, {"y", "present_k", "present_v"}).import(),
      {"smelt.concat", "smelt.less", "smelt.attention", "-> <[b, 1, 8], f16>"});
  Ports packed{{"qkv", "b 1 24"}};
  expectImports(contrib("DecoderMaskedMultiHeadAttention", packed).import(),
                {"smelt.slice", "smelt.attention", "-> <[b, 1, 8], f16>"});
  expectFails(contrib("DecoderMaskedMultiHeadAttention", {{"qkv", "b 1 25"}}).import(),
              {"cannot cut 'qkv'", "into three"});
  Ports beams = cached;
  beams.insert(beams.end(), {{"", ""}, {"", ""}, {"mask_beams", "b 2 9"}});
  expectFails(contrib("DecoderMaskedMultiHeadAttention", beams).import(), {"(cache_indirection)"});
}

} // namespace
} // namespace smelt::test
