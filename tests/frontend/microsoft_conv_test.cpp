#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder contrib(const std::string &op, const std::vector<std::string> &inputs) {
  ModelBuilder model(20);
  model.node(op, inputs).output("y");
  model.lastNode().set_domain("com.microsoft");
  return model;
}

ModelBuilder conv(const std::string &op, const std::string &data, const std::string &addend) {
  ModelBuilder model = contrib(op, {"x", "w", "b", "z"});
  model.input("x", DataType::FLOAT, data).input("w", DataType::FLOAT, "6 4 3 3");
  model.input("b", DataType::FLOAT, "6").input("z", DataType::FLOAT, addend);
  return model;
}

TEST(MicrosoftConv, AnAddendAndAFunctionFollow) {
  expectImports(
      conv("FusedConv", "batch 4 8 9", "batch 6 6 7").attribute("activation", "Relu").import(),
      {"smelt.conv", "smelt.add", "smelt.relu"});
  ModelBuilder clipped = conv("FusedConv", "batch 4 8 9", "batch 6 6 7");
  clipped.attribute("activation", "Clip");
  expectImports(clipped.attribute("activation_params", std::vector<float>{-1.5f, 2.5f}).import(),
                {"smelt.conv", "dense<-1.500000e+00>", "smelt.max", "smelt.min"});
}

TEST(MicrosoftConv, ChannelsMayComeLast) {
  for (const char *op : {"NhwcConv", "NhwcFusedConv"})
    expectImports(conv(op, "batch 8 9 4", "batch 6 7 6").import(),
                  {"smelt.transpose", "smelt.conv", "smelt.transpose", "smelt.add",
                   "<[batch, 6, 7, 6], f32>"});
}

TEST(MicrosoftConv, WhatDoesNotFitIsRefused) {
  expectFails(conv("FusedConv", "batch 4 8 9", "2 batch 6 6 7").import(),
              {"its addend 'z'", "does not fit the result"});
  expectFails(
      conv("FusedConv", "batch 4 8 9", "batch 6 6 7").attribute("activation", "If").import(),
      {"FusedConv: its activation 'If' is not supported"});
  ModelBuilder many = conv("FusedConv", "batch 4 8 9", "batch 6 6 7");
  many.attribute("activation", "Clip");
  expectFails(many.attribute("activation_params", std::vector<float>{1, 2, 3}).import(),
              {"has 3 activation_params for Clip"});
}

TEST(MicrosoftConv, GemmNamesTheParametersOfItsFunction) {
  ModelBuilder model = contrib("FusedGemm", {"a", "b"});
  model.input("a", DataType::FLOAT, "m 4").input("b", DataType::FLOAT, "5 4");
  model.attribute("transB", 1).attribute("alpha", 2.0f).attribute("activation", "LeakyRelu");
  model.attribute("activation_alpha", 0.25f);
  expectImports(model.import(), {"smelt.matmul", "dense<2.500000e-01>", "smelt.select"});
}

TEST(MicrosoftConv, PoolsOfBytes) {
  ModelBuilder model = contrib("NhwcMaxPool", {"x"});
  model.input("x", DataType::UINT8, "batch 8 9 4");
  model.attribute("kernel_shape", std::vector<int64_t>{2, 3});
  expectImports(model.import(), {"smelt.transpose", "smelt.reduce", "<[batch, 7, 7, 4], ui8>"});
}

} // namespace
} // namespace smelt::test
