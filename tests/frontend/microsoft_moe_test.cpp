#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder packed(const std::string &first) {
  ModelBuilder model(20);
  model.input("x", DataType::FLOAT, "tokens 8").input("r", DataType::FLOAT, "tokens 4");
  model.input("w1", DataType::FLOAT, first).input("w2", DataType::FLOAT, "4 8 6");
  model.node("MoE", {"x", "r", "w1", "", "w2"}).attribute("k", 2).output("y");
  model.lastNode().set_domain("com.microsoft");
  return model;
}

TEST(MicrosoftMoe, EveryExpertComputesAndAGateWeighs) {
  expectImports(packed("4 6 8").attribute("activation_type", "gelu").import(),
                {"smelt.matmul", "smelt.gelu", "smelt.matmul", "smelt.softmax", "smelt.top_k",
                 "smelt.equal", "smelt.select", "<[tokens, 8], f32>"});
}

TEST(MicrosoftMoe, GatesMayBeInterleaved) {
  for (int64_t fusion : {1, 2})
    expectImports(packed("4 12 8")
                      .attribute("activation_type", "swiglu")
                      .attribute("swiglu_fusion", fusion)
                      .attribute("swiglu_limit", 7.0f)
                      .import(),
                  {"smelt.slice", "smelt.min", "smelt.max", "smelt.sigmoid"});
}

TEST(MicrosoftMoe, WhatIsMissingIsNamed) {
  expectFails(packed("4 6 8").attribute("activation_type", "swiglu").import(), {"needs input 6"});
  expectFails(packed("4 6 8").attribute("activation_type", "tanh").import(),
              {"its activation_type 'tanh' is none of relu"});
  expectFails(packed("4 6 8").attribute("use_sparse_mixer", 1).import(), {"'use_sparse_mixer'"});
  expectFails(packed("6 8").import(), {"needs 3 axes, got 'w1'"});
}

} // namespace
} // namespace smelt::test
