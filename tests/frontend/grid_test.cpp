#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder sample(const std::string &shape, const std::string &grid, const std::string &mode,
                    int32_t type = DataType::FLOAT) {
  ModelBuilder model;
  model.input("x", type, shape)
      .input("grid", DataType::FLOAT, grid)
      .node("GridSample", {"x", "grid"})
      .attribute("mode", mode)
      .output("y");
  return model;
}

TEST(Grid, ReadsEachNeighbourByItsFlatPosition) {
  expectImports(sample("n 3 h w", "n 5 6 2", "nearest").import(),
                {"smelt.reshape", "-> <[n, 3, h*w], f32>", "smelt.gather_elements", "axis 2",
                 "-> <[n, 3, 30], f32>", "-> <[n, 3, 5, 6], f32>"});
  expectImports(sample("n 3 4 5 6", "n 1 2 3 3", "linear", DataType::FLOAT16).import(),
                {"smelt.gather_elements", "smelt.add", "smelt.cast", "-> <[n, 3, 1, 2, 3], f16>"});
}

TEST(Grid, RefusesWhatDoesNotFit) {
  expectFails(sample("n 3 h w", "n 5 6 3", "linear").import(), {"needs 3 = 2"});
  expectFails(sample("n 3 h w", "n 5 2", "linear").import(), {"does not fit"});
  expectFails(sample("n 3 h w", "n 5 6 2", "area").import(), {"mode 'area' is unknown"});
  expectFails(sample("n 3 2 h w", "n 1 5 6 3", "cubic").import(),
              {"interpolation of 3 axes in this mode is not supported"});
  expectFails(sample("n 3 h w", "n 5 6 2", "linear", DataType::INT32).import(),
              {"is not supported"});
  expectFails(sample("n 3 0 w", "n 5 6 2", "linear").import(), {"needs 1 <= 0"});
}

TEST(Grid, AffineMapsOfEveryPosition) {
  ModelBuilder model;
  model.input("theta", DataType::FLOAT, "n 2 3")
      .integers("size", {4, 3, 5, 6})
      .node("AffineGrid", {"theta", "size"})
      .output("y");
  expectImports(model.import(), {"smelt.mul", "-> <[4, 1, 6, 2], f32>", "smelt.mul",
                                 "-> <[4, 5, 1, 2], f32>", "smelt.add", "-> <[4, 5, 6, 2], f32>"});
}

} // namespace
} // namespace smelt::test
