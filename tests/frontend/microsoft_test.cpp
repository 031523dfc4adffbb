#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

/// One op of the domain com.microsoft, with a bias where it takes one.
ModelBuilder microsoft(const std::string &op, const std::vector<std::string> &inputs = {"x"}) {
  ModelBuilder model(20);
  model.opset("com.microsoft", 1);
  model.input("x", DataType::FLOAT, "batch 3 4").input("bias", DataType::FLOAT, "4");
  model.node(op, inputs).output("y");
  model.lastNode().set_domain("com.microsoft");
  return model;
}

TEST(Microsoft, Gelus) {
  expectImports(microsoft("Gelu").import(), {"smelt.gelu %arg0 :"});
  expectImports(microsoft("BiasGelu", {"x", "bias"}).import(),
                {"smelt.add %arg0, %arg1", "smelt.gelu %0 :"});
  expectImports(microsoft("FastGelu").import(), {"smelt.gelu %arg0 tanh"});
  expectImports(microsoft("FastGelu", {"x", "bias"}).import(),
                {"smelt.add %arg0, %arg1", "smelt.gelu %0 tanh"});
  expectImports(microsoft("QuickGelu").import(),
                {"dense<1.702", "smelt.mul %arg0", "smelt.sigmoid", "smelt.mul %arg0"});
}

TEST(Microsoft, FusedMatMulOrdersItsAxes) {
  auto product = [](const std::string &a, const std::string &b) {
    return microsoftNode("FusedMatMul", halfPorts({{"a", a}, {"b", b}}));
  };
  expectImports(product("n 4 3", "4 5").attribute("transA", 1).attribute("alpha", 0.5f).import(),
                {"smelt.transpose %arg0 [0, 2, 1]", "smelt.matmul", "dense<5.0", "smelt.mul",
                 "<[n, 3, 5], f16>"});
  expectImports(
      product("m n 4", "n 5 4").attribute("transBatchA", 1).attribute("transB", 1).import(),
      {"smelt.transpose %arg0 [1, 0, 2]", "smelt.transpose %arg1 [0, 2, 1]",
       "-> <[n, m, 5], f16>"});
  expectImports(product("4", "4 5").attribute("transA", 1).import(), {"-> <[5], f16>"});
}

TEST(Microsoft, BiasAddAddsAll) {
  expectImports(
      microsoftNode("BiasAdd", halfPorts({{"x", "n s 4"}, {"b", "4"}, {"k", "n s 4"}})).import(),
      {"smelt.add %arg0, %arg1", "smelt.add %0, %arg2"});
}

TEST(Microsoft, NeedsItsDomain) {
  ModelBuilder model = microsoft("FastGelu");
  model.lastNode().set_domain("");
  expectFails(model.import(), {"op FastGelu (opset 20) is not supported"});
  // ONNX's op at an opset that has it, asked of the other domain.
  expectFails(microsoft("Tanh").import(), {"op com.microsoft.Tanh (opset 1) is not supported"});
}

TEST(Microsoft, NeedsNoImport) {
  ModelBuilder model(12);
  model.input("x", DataType::FLOAT, "4").node("Gelu", {"x"}).output("y");
  model.lastNode().set_domain("com.microsoft");
  expectImports(model.import(), {"smelt.gelu %arg0 :"});
}

TEST(Microsoft, NeedsItsInputs) {
  expectFails(microsoft("BiasGelu").import(), {"needs at least 2 inputs"});
}

} // namespace
} // namespace smelt::test
