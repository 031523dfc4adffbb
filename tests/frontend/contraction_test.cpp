#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder product(const std::string &left, const std::string &right) {
  ModelBuilder model;
  model.input("a", DataType::FLOAT, left)
      .input("b", DataType::FLOAT, right)
      .node("MatMul", {"a", "b"})
      .output("y");
  return model;
}

TEST(Contraction, MatMulOfVectors) {
  expectImports(product("3", "3 4").import(), {"smelt.reshape %arg0", "[1, 3]", "smelt.matmul",
                                               "smelt.reshape", "-> <[4], f32>"});
  expectImports(product("batch 2 3", "3").import(),
                {"smelt.reshape %arg1", "[3, 1]", "smelt.matmul", "-> <[batch, 2], f32>"});
  expectImports(product("3", "3").import(), {"smelt.matmul", "-> <[], f32>"});
}

TEST(Contraction, MatMulBroadcastsBatches) {
  expectImports(product("batch 12 s d", "12 d t").import(),
                {"smelt.matmul %arg0, %arg1", "-> <[batch, 12, s, t], f32>"});
}

TEST(Contraction, SizesThatMeetAreOne) {
  expectImports(product("m k", "j n").import(), {"%arg1: !smelt.tensor<[k, n], f32>"});
  expectFails(product("m 3", "4 n").import(), {"needs 3 = 4", "columns of the left matrix"});
  expectFails(product("", "4 n").import(), {"at least one axis"});
}

TEST(Contraction, GemmScalesAndTransposes) {
  ModelBuilder model;
  model.input("a", DataType::FLOAT, "k m")
      .input("b", DataType::FLOAT, "n k")
      .input("c", DataType::FLOAT, "n");
  model.node("Gemm", {"a", "b", "c"})
      .attribute("transA", 1)
      .attribute("transB", 1)
      .attribute("alpha", 0.5f)
      .attribute("beta", 2.0f);
  model.output("y");
  expectImports(model.import(), {"smelt.transpose %arg0 [1, 0]", "smelt.transpose %arg1 [1, 0]",
                                 "smelt.matmul", "dense<5.0", "smelt.mul", "dense<2.0",
                                 "smelt.mul %arg2", "smelt.add", "-> <[m, n], f32>"});
}

TEST(Contraction, GemmRefusesAnAddendThatDoesNotFit) {
  ModelBuilder model;
  model.input("a", DataType::FLOAT, "1 3")
      .input("b", DataType::FLOAT, "3 4")
      .input("c", DataType::FLOAT, "2 4");
  model.node("Gemm", {"a", "b", "c"}).output("y");
  expectFails(model.import(), {"'c' (float [2, 4]) does not broadcast to the product"});
}

ModelBuilder convolution(const std::string &input, const std::string &filter) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, input)
      .input("w", DataType::FLOAT, filter)
      .node("Conv", {"x", "w"})
      .output("y");
  return model;
}

TEST(Contraction, ConvWindows) {
  expectImports(convolution("batch 3 224 224", "768 3 16 16")
                    .attribute("strides", std::vector<int64_t>{16, 16})
                    .import(),
                {"smelt.conv", "-> <[batch, 768, 14, 14], f32>"});
  expectImports(convolution("1 2 time", "4 1 3")
                    .attribute("group", 2)
                    .attribute("auto_pad", "SAME_UPPER")
                    .import(),
                {"pads = array<i64: 1, 1>", "-> <[1, 4, time], f32>"});
  expectImports(convolution("1 1 5", "1 1 2")
                    .attribute("auto_pad", "SAME_LOWER")
                    .attribute("strides", std::vector<int64_t>{2})
                    .import(),
                {"pads = array<i64: 1, 0>", "-> <[1, 1, 3], f32>"});
}

TEST(Contraction, ConvRefusesWhatDoesNotFit) {
  expectFails(convolution("1 3 8", "4 2 3").import(), {"needs 3 = 2"});
  expectFails(convolution("1 3", "4 3").import(), {"at least 3"});
  expectFails(convolution("1 3 8", "4 3 3").attribute("pads", std::vector<int64_t>{-1, 0}).import(),
              {"'pads' must hold 2 values"});
  expectFails(
      convolution("1 3 8", "4 3 3").attribute("kernel_shape", std::vector<int64_t>{5}).import(),
      {"kernel_shape"});
  expectFails(convolution("1 1 2", "1 1 5").import(), {"larger than the padded input"});
}

} // namespace
} // namespace smelt::test
