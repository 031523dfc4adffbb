#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder deform(const std::string &offset, const std::string &mask = "", int groups = 2) {
  ModelBuilder model(22);
  model.input("x", DataType::FLOAT, "n 4 8 9").input("w", DataType::FLOAT, "6 2 3 2");
  model.input("o", DataType::FLOAT, offset).input("b", DataType::FLOAT, "6");
  std::vector<std::string> inputs{"x", "w", "o", "b"};
  if (!mask.empty()) {
    model.input("m", DataType::FLOAT, mask);
    inputs.push_back("m");
  }
  model.node("DeformConv", inputs)
      .attribute("group", 2)
      .attribute("offset_group", groups)
      .output("y");
  return model;
}

TEST(Deformable, SamplesAreTheColumnsOfAProduct) {
  expectImports(deform("n 24 6 8").import(),
                {"smelt.gather_elements", "smelt.matmul", "smelt.add", "<[n, 6, 6, 8], f32>"});
  expectImports(deform("n 24 6 8", "n 12 6 8").import(),
                {"smelt.gather_elements", "smelt.mul", "smelt.matmul"});
}

TEST(Deformable, EachPlaceHasItsOffset) {
  expectFails(deform("n 12 6 8").import(), {"each place of the filter has its offset"});
  expectFails(deform("n 24 6 8", "n 12 6 7").import(), {"each place of the filter has its offset"});
  expectFails(deform("n 24 48").import(), {"'o' (float [n, 24, 48]) must be [n, 24, 6, 8]"});
  expectFails(deform("n 24 6 8", "", 3).import(), {"do not make 3 groups of offsets"});
  expectFails(deform("n 24 6 8", "", 0).import(), {"do not make 0 groups of offsets"});
}

} // namespace
} // namespace smelt::test
