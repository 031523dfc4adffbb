#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

/// Adds the rows of x to a sum, and gives all sums.
ModelBuilder body() {
  ModelBuilder body;
  body.input("sum", DataType::FLOAT, "4").input("row", DataType::FLOAT, "4");
  body.node("Add", {"sum", "row"}, {"next"}).node("Identity", {"next"}, {"all"});
  return body.output("next").output("all");
}

ModelBuilder scanModel(const std::string &shape) {
  ModelBuilder model;
  model.input("s", DataType::FLOAT, "4").input("x", DataType::FLOAT, shape);
  model.node("Scan", {"s", "x"}, {"last", "sums"}).attribute("body", body());
  return model.attribute("num_scan_inputs", 1).output("last").output("sums");
}

TEST(Scan, StepsAreUnrolled) {
  expectImports(scanModel("3 4").import(),
                {"smelt.slice %arg1 starts [#smelt.dim<0>, #smelt.dim<0>]", "smelt.add %arg0",
                 "smelt.add", "smelt.add", "smelt.concat", "-> <[3, 4], f32>"});
}

TEST(Scan, AxesAndDirections) {
  ModelBuilder model = scanModel("4 3");
  model.attribute("scan_input_axes", std::vector<int64_t>{-1});
  model.attribute("scan_input_directions", std::vector<int64_t>{1});
  model.attribute("scan_output_axes", std::vector<int64_t>{1});
  expectImports(model.attribute("scan_output_directions", std::vector<int64_t>{1}).import(),
                {"smelt.slice %arg1 starts [#smelt.dim<0>, #smelt.dim<2>]", "smelt.concat",
                 "axis 1", "-> <[4, 3], f32>"});
}

TEST(Scan, Opset8ScansEachElementOfABatch) {
  ModelBuilder model(8);
  model.input("s", DataType::FLOAT, "2 4").input("x", DataType::FLOAT, "2 3 4");
  model.node("Scan", {"", "s", "x"}, {"last", "sums"}).attribute("body", body());
  model.attribute("num_scan_inputs", 1).output("last").output("sums");
  expectImports(model.import(), {"-> <[3, 4], f32>", "-> <[3, 4], f32>", "return"});
}

TEST(Scan, RefusesAnOmittedInput) {
  for (int opset : {8, 20}) {
    ModelBuilder model(opset);
    model.input("s", DataType::FLOAT, "2 4").input("x", DataType::FLOAT, "2 3 4");
    std::vector<std::string> inputs{"s", "x", ""};
    if (opset == 8)
      inputs.insert(inputs.begin(), "");
    model.node("Scan", inputs, {"last", "sums"}).attribute("body", body());
    model.attribute("num_scan_inputs", 2).output("last").output("sums");
    expectFails(model.import(), {"Scan: "});
  }
}

TEST(Scan, RefusesWhatItCannotUnroll) {
  expectFails(scanModel("length 4").import(),
              {"a sequence of length steps is not supported: its length must be constant"});
  expectFails(scanModel("3 4").attribute("scan_output_axes", std::vector<int64_t>{0, 0}).import(),
              {"its scan_output_axes must be 1 integers, got 2"});
}

} // namespace
} // namespace smelt::test
