#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder causalConv(int type, const std::string &taps = "channels 1 3",
                        const std::string &state = "batch channels 2") {
  ModelBuilder model(27);
  model.input("x", type, "batch channels length").input("w", type, taps);
  if (!state.empty())
    model.input("past", type, state);
  model.node("CausalConvWithState", {"x", "w", "", state.empty() ? "" : "past"}, {"y", "present"});
  return model.output("y").output("present");
}

TEST(CausalConv, TapsSeeTheStateAndTheSignal) {
  expectImports(causalConv(DataType::FLOAT).import(),
                {"smelt.concat %arg2, %arg0 axis 2", "length + 2", "smelt.mul", "smelt.mul",
                 "smelt.add", "smelt.mul", "smelt.add", "<[batch, channels, 2], f32>", "return %"});
}

TEST(CausalConv, WithoutAStateZerosComeBefore) {
  expectImports(
      causalConv(DataType::FLOAT16, "channels 1 3", "").attribute("activation", "swish").import(),
      {"smelt.expand", "<[batch, channels, 2], f16>", "smelt.concat", "smelt.cast", "f32>",
       "smelt.silu", "f32>", "smelt.cast", "f16>"});
}

TEST(CausalConv, OneTapHasNoState) {
  expectImports(causalConv(DataType::FLOAT, "channels 1 1", "").import(),
                {"smelt.mul", "<[batch, channels, 0], f32>"});
}

TEST(CausalConv, RefusesWhatDoesNotFit) {
  expectFails(causalConv(DataType::FLOAT, "channels 1 taps").import(),
              {"a filter of taps taps is not supported: their number must be constant"});
  expectFails(causalConv(DataType::FLOAT, "channels 2 3").import(),
              {"needs a signal [batch, channels, length] and filters [channels, 1, taps]"});
  expectFails(causalConv(DataType::FLOAT, "channels 1 3", "batch channels 3").import(),
              {"its state 'past' (float [batch, channels, 3]) must be [batch, channels, 2]"});
  expectFails(causalConv(DataType::FLOAT).attribute("activation", "relu").import(),
              {"activation 'relu' is none of none, silu and swish"});
}

} // namespace
} // namespace smelt::test
