#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder like(const std::string &op) {
  ModelBuilder model(22);
  model.input("x", DataType::FLOAT16, "n 3").node(op, {"x"}).output("y");
  return model;
}

TEST(Random, HashesPlaces) {
  expectImports(like("RandomUniformLike").attribute("low", -2.0f).attribute("high", 4.0f).import(),
                {"smelt.iota", "smelt.shift_right", "smelt.bit_xor", "smelt.mul", "dense<6.0",
                 "dense<-2.0", "-> <[n, 3], f16>"});
  expectImports(like("RandomNormalLike").attribute("dtype", 1).import(),
                {"smelt.log", "smelt.sqrt", "smelt.cos", "<[n, 3], f32>"});
  expectFails(like("RandomUniformLike").attribute("dtype", 7).import(),
              {"only floats are supported"});
}

TEST(Random, OfAShape) {
  ModelBuilder model(22);
  model.node("RandomUniform", {}).output("y");
  expectFails(model.import(), {"needs the attribute 'shape'"});
  model.attribute("shape", std::vector<int64_t>{2, 5});
  expectImports(model.import(), {"smelt.iota", "<[2, 5], f32>"});
}

TEST(Random, DropsInTraining) {
  ModelBuilder model(13);
  model.input("x", DataType::FLOAT16, "n 3").floats("ratio", {}, {0.25f});
  onnx_wire::Tensor &training = *model.graph().add_initializer();
  training.set_name("training");
  training.set_data_type(DataType::BOOL);
  training.add_int32_data(1);
  model.node("Dropout", {"x", "ratio", "training"}, {"y", "mask"}).output("y").output("mask");
  expectImports(model.import(), {"smelt.bit_xor", "smelt.less_equal", "smelt.div", "smelt.select",
                                 "-> <[n, 3], f16>"});
}

TEST(Random, SeedsDiffer) {
  auto text = [](float seed) {
    return like("RandomUniformLike").attribute("seed", seed).import().text;
  };
  EXPECT_EQ(text(1), text(1));
  EXPECT_NE(text(1), text(2));
}

} // namespace
} // namespace smelt::test
