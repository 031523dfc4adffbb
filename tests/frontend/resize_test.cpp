#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder byScales(const std::string &shape, const std::vector<float> &scales,
                      const std::string &mode, int32_t type = DataType::FLOAT) {
  ModelBuilder model;
  model.input("x", type, shape)
      .floats("scales", {static_cast<int64_t>(scales.size())}, scales)
      .node("Resize", {"x", "", "scales"})
      .attribute("mode", mode)
      .output("y");
  return model;
}

ModelBuilder bySizes(const std::string &shape, const std::vector<int64_t> &sizes) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, shape)
      .integers("sizes", sizes)
      .node("Resize", {"x", "", "", "sizes"})
      .output("y");
  return model;
}

TEST(Resize, NearestIsOneGatherForEachAxisThatChanges) {
  expectImports(byScales("n c h w", {1, 1, 1.5, 0.5}, "nearest").import(),
                {"smelt.iota", "f64>", "smelt.gather", "axis 2", "smelt.gather", "axis 3",
                 "-> <[n, c, floordiv(3*h, 2), floordiv(w, 2)], f32>", "return"});
  expectImports(byScales("n c h w", {1, 1, 1, 1}, "nearest").import(), {"return %arg0"});
  expectImports(bySizes("n 3 8 8", {1, 3, 8, 8}).import(), {"smelt.gather", "axis 0"});
}

TEST(Resize, WholeScalesRepeatElements) {
  expectImports(byScales("n h", {1, 2}, "nearest").import(),
                {"smelt.reshape", "-> <[n, h, 1], f32>", "smelt.expand", "-> <[n, h, 2], f32>",
                 "smelt.reshape", "-> <[n, 2*h], f32>", "return"});
  ModelBuilder ceiling = byScales("n h", {1, 2}, "nearest");
  expectImports(ceiling.attribute("nearest_mode", "ceil").import(), {"smelt.gather"});
}

TEST(Resize, InterpolatesHalfPrecisionInFloat32) {
  expectImports(byScales("1 1 9 7", {1, 1, 1, 2}, "linear", DataType::FLOAT16).import(),
                {"smelt.gather", "f16>", "smelt.cast", "-> <[1, 1, 9, 14], f32>", "smelt.mul",
                 "smelt.gather", "smelt.add", "smelt.cast", "-> <[1, 1, 9, 14], f16>"});
}

TEST(Resize, ScalesOfSizesThatVaryAreFractions) {
  expectImports(byScales("n", {0.6f}, "nearest").import(), {"-> <[floordiv(3*n, 5)], f32>"});
  expectImports(byScales("10", {0.7f}, "nearest").import(), {"-> <[7], f32>"});
  expectImports(byScales("10", {0.12345f}, "nearest").import(), {"-> <[1], f32>"});
  expectFails(byScales("n", {0.12345f}, "nearest").import(),
              {"no fraction of whole numbers", "is not supported"});
  expectFails(byScales("n", {-1.0f}, "nearest").import(), {"cannot scale by -1"});
}

TEST(Resize, ManyNeighboursAreSummedAlongAnAxis) {
  expectImports(byScales("2 64", {1, 0.125f}, "linear").attribute("antialias", 1).import(),
                {"smelt.gather", "-> <[2, 8, 16], f32>", "smelt.reduce", "sum"});
  expectImports(byScales("2 64", {1, 2}, "cubic").attribute("antialias", 1).import(),
                {"smelt.gather", "-> <[2, 128], f32>"});
}

TEST(Resize, KeepsProportions) {
  auto kept = [](const std::string &policy) {
    ModelBuilder model = bySizes("2 4", {7, 8});
    model.attribute("keep_aspect_ratio_policy", policy);
    return model;
  };
  expectImports(kept("not_larger").import(), {"-> <[4, 8], f32>"});
  expectImports(kept("not_smaller").import(), {"-> <[7, 14], f32>"});
  expectFails(kept("none").import(), {"keep_aspect_ratio_policy 'none' is unknown"});
}

TEST(Resize, RefusesWhatItCannotRead) {
  expectFails(byScales("n 4", {2}, "nearest").import(), {"1 scales for 2 axes"});
  expectFails(bySizes("n 4", {2}).import(), {"1 sizes for 2 axes"});
  expectFails(byScales("n", {2}, "area").import(), {"mode 'area' is unknown"});
  expectFails(byScales("n", {2}, "linear", DataType::BOOL).import(), {"is not supported"});
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "n")
      .input("scales", DataType::FLOAT, "1")
      .node("Resize", {"x", "", "scales"})
      .output("y");
  expectFails(model.import(), {"the list of scales", "must be constant"});
  model = bySizes("n", {5});
  model.attribute("mode", "linear").attribute("antialias", 1);
  expectFails(model.import(), {"a scale that varies, from n to 5, is not supported"});
}

TEST(Resize, UpsampleBeforeOpset10) {
  ModelBuilder model(9);
  model.input("x", DataType::FLOAT, "n h")
      .floats("scales", {2}, {1, 3})
      .node("Upsample", {"x", "scales"})
      .output("y");
  expectImports(model.import(), {"-> <[n, h, 3], f32>", "-> <[n, 3*h], f32>"});
}

} // namespace
} // namespace smelt::test
