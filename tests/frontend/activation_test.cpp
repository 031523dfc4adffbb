#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder unary(const std::string &op, int64_t opset = 20) {
  ModelBuilder model(opset);
  model.input("x", DataType::FLOAT, "batch 3 4").node(op, {"x"}).output("y");
  return model;
}

TEST(Activation, MapsOneToOne) {
  for (auto [op, name] : {std::pair("Relu", "relu"),
                          {"Sigmoid", "sigmoid"},
                          {"Tanh", "tanh"},
                          {"Softplus", "softplus"}})
    expectImports(unary(op).import(), {std::string("smelt.") + name + " %arg0"});
}

TEST(Activation, GeluApproximations) {
  expectImports(unary("Gelu").import(), {"smelt.gelu %arg0 :"});
  expectImports(unary("Gelu").attribute("approximate", "tanh").import(),
                {"smelt.gelu %arg0 tanh :"});
  expectFails(unary("Gelu").attribute("approximate", "rough").import(), {"Gelu_0", "'rough'"});
}

TEST(Activation, SwishWithAndWithoutSlope) {
  expectImports(unary("Swish", 24).import(), {"smelt.silu %arg0"});
  expectImports(unary("Swish", 24).attribute("alpha", 1.5f).import(),
                {"dense<1.500000e+00>", "smelt.mul %arg0", "smelt.sigmoid", "smelt.mul %arg0"});
  ModelBuilder integers(24);
  integers.input("x", DataType::INT8, "3").node("Swish", {"x"}).output("y");
  expectFails(integers.import(), {"Swish: is not defined for an input 0 of type int8"});
}

TEST(Activation, SoftmaxCountsItsAxisFromTheEnd) {
  expectImports(unary("Softmax").import(), {"smelt.softmax %arg0 axis 2"});
  expectImports(unary("Softmax").attribute("axis", 1).import(), {"smelt.softmax %arg0 axis 1"});
  expectFails(unary("Softmax").attribute("axis", 3).import(), {"axis 3 is outside rank 3"});
}

TEST(Activation, SoftmaxBeforeOpset13SeesAMatrix) {
  expectImports(unary("Softmax", 11).import(),
                {"smelt.reshape %arg0", "<[batch, 12], f32>", "smelt.softmax", "axis 1",
                 "smelt.reshape", "<[batch, 3, 4], f32>"});
  expectImports(unary("Softmax", 11).attribute("axis", 2).import(), {"smelt.softmax %arg0 axis 2"});
}

TEST(Activation, LogSoftmaxStaysFinite) {
  expectImports(unary("LogSoftmax").import(), {"smelt.reduce max %arg0", "smelt.sub", "smelt.exp",
                                               "smelt.reduce sum", "smelt.log", "smelt.sub"});
}

TEST(Activation, HardmaxTakesTheFirstOfTheLargest) {
  expectImports(unary("Hardmax").attribute("axis", 1).import(),
                {"smelt.transpose %arg0", "smelt.top_k", "axis 2", "smelt.iota", "smelt.equal",
                 "smelt.cast", "smelt.transpose"});
  expectImports(unary("Hardmax", 11).import(),
                {"smelt.reshape %arg0", "<[batch, 12], f32>", "smelt.top_k", "smelt.reshape"});
}

TEST(Activation, SwiGluTakesInputsOfOneShape) {
  auto gated = [](const std::string &shape) {
    ModelBuilder model(28);
    model.input("a", DataType::FLOAT, "n 4").input("b", DataType::FLOAT, shape);
    model.node("SwiGLU", {"a", "b"}).output("y");
    return model.import();
  };
  expectImports(gated("n 4"), {"smelt.silu %arg0", "smelt.mul"});
  expectFails(gated("4"), {"must have one shape"});
}

TEST(Activation, MishAndSoftsign) {
  expectImports(unary("Mish").import(), {"smelt.softplus %arg0", "smelt.tanh", "smelt.mul %arg0"});
  expectImports(unary("Softsign").import(), {"smelt.abs %arg0", "smelt.add", "smelt.div %arg0"});
}

} // namespace
} // namespace smelt::test
