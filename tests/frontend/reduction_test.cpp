#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder reduction(const std::string &op, int64_t opset, int32_t type = DataType::FLOAT) {
  ModelBuilder model(opset);
  model.input("x", type, "batch 3 4").output("y").integers("axes", {-1}).node(op, {"x"});
  return model;
}

TEST(Reduction, AxesAsAttributeThenAsInput) {
  auto old = reduction("ReduceMean", 11);
  expectImports(old.attribute("axes", std::vector<int64_t>{-1}).import(),
                {"smelt.reduce mean %arg0 axes [2]", "-> <[batch, 3, 1], f32>"});
  auto recent = reduction("ReduceMean", 18);
  recent.lastNode().add_input("axes");
  expectImports(recent.attribute("keepdims", 0).import(),
                {"axes [2]", "smelt.reshape", "-> <[batch, 3], f32>"});
}

TEST(Reduction, NoAxesMeansAllOrNone) {
  expectImports(reduction("ReduceSum", 13).import(), {"axes [0, 1, 2]"});
  expectImports(reduction("ReduceSum", 13).attribute("noop_with_empty_axes", 1).import(),
                {"return %arg0"});
}

TEST(Reduction, RefusesAxesNamedTwice) {
  expectFails(reduction("ReduceMax", 11).attribute("axes", std::vector<int64_t>{2, -1}).import(),
              {"named twice"});
}

TEST(Reduction, ComposedOnesAreWide) {
  auto model = reduction("ReduceL2", 13, DataType::FLOAT16);
  expectImports(model.import(), {"smelt.cast %arg0", "f32>", "smelt.mul", "smelt.reduce sum",
                                 "smelt.sqrt", "smelt.cast", "f16>"});
  expectImports(
      reduction("ReduceLogSumExp", 13).import(),
      {"smelt.reduce max", "smelt.sub", "smelt.exp", "smelt.reduce sum", "smelt.log", "smelt.add"});
}

TEST(Reduction, CumSumDirections) {
  ModelBuilder model;
  model.input("x", DataType::INT64, "b s").integer("axis", -1).node("CumSum", {"x", "axis"});
  model.attribute("exclusive", 1).attribute("reverse", 1).output("y");
  expectImports(model.import(), {"smelt.cumsum %arg0 axis 1 exclusive reverse"});
}

TEST(Reduction, CumProdDirections) {
  ModelBuilder model(26);
  model.input("x", DataType::FLOAT, "b s").integer("axis", 0).node("CumProd", {"x", "axis"});
  model.attribute("reverse", 1).output("y");
  expectImports(model.import(), {"smelt.cumprod %arg0 axis 0 reverse"});
}

TEST(Reduction, CumSumNeedsAConstantAxis) {
  ModelBuilder model;
  model.input("x", DataType::INT64, "b s")
      .input("axis", DataType::INT64, "")
      .node("CumSum", {"x", "axis"})
      .output("y");
  expectFails(model.import(), {"the axis, 'axis' (int64 []), must be constant"});
}

} // namespace
} // namespace smelt::test
