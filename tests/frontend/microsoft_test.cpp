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

TEST(Microsoft, NeedsItsDomain) {
  ModelBuilder model = microsoft("FastGelu");
  model.lastNode().set_domain("");
  expectFails(model.import(), {"op FastGelu (opset 20) is not supported"});
  // ONNX's op at an opset that has it, asked of the other domain.
  expectFails(microsoft("Tanh").import(), {"op com.microsoft.Tanh (opset 1) is not supported"});
}

TEST(Microsoft, NeedsItsInputs) {
  expectFails(microsoft("BiasGelu").import(), {"needs at least 2 inputs"});
}

} // namespace
} // namespace smelt::test
