#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder standard(const std::string &op, const std::vector<std::string> &inputs) {
  ModelBuilder model(20);
  model.input("x", DataType::FLOAT, "batch 3 4");
  model.node(op, inputs).output("y");
  model.lastNode().set_domain("com.microsoft");
  return model;
}

TEST(MicrosoftStandard, AreSpelledAsOnnxHasThem) {
  expectImports(standard("Trilu", {"x"}).attribute("upper", 0).import(), {"smelt.select"});
  expectImports(standard("ExpandDims", {"x", "axis"}).integer("axis", -2).import(),
                {"-> <[batch, 3, 1, 4], f32>"});
  expectImports(standard("Pad", {"x", "pads"}).integers("pads", {0, 1, 0, 0, 0, 2}).import(),
                {"<[batch, 4, 6], f32>"});
  expectImports(standard("GatherND", {"x", "i"}).input("i", DataType::INT32, "n 2").import(),
                {"smelt.cast %arg1", "smelt.gather_nd", "<[n, 4], f32>"});
  expectImports(standard("Range", {"a", "b"}).integer("a", 2).integer("b", 7).import(),
                {"dense<[2, 3, 4, 5, 6]>"});
}

TEST(MicrosoftStandard, OneAxisIsAdded) {
  expectFails(standard("ExpandDims", {"x", "axes"}).integers("axes", {0, 1}).import(),
              {"ExpandDims: needs one axis, got 'axes'"});
}

} // namespace
} // namespace smelt::test
