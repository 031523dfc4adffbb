#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder image(const std::string &op, const std::string &shape = "batch 3 8 9") {
  ModelBuilder model(8);
  model.input("x", DataType::FLOAT, shape).node(op, {"x"}).output("y");
  return model;
}

TEST(OldOps, FunctionsAreScaled) {
  expectImports(image("Affine").attribute("alpha", 2.0f).attribute("beta", 3.0f).import(),
                {"dense<2.000000e+00>", "smelt.mul", "smelt.add"});
  expectImports(image("Scale").attribute("scale", 2.0f).import(), {"smelt.mul"});
  for (auto [op, function] :
       {std::pair("ScaledTanh", "smelt.tanh"), {"ParametricSoftplus", "smelt.softplus"}})
    expectImports(image(op).attribute("alpha", 2.0f).attribute("beta", 3.0f).import(),
                  {"smelt.mul %arg0", function, "smelt.mul"});
}

TEST(OldOps, AnImageHasABiasForEachChannel) {
  ModelBuilder model = image("ImageScaler", "batch c 8 9");
  model.attribute("scale", 0.5f);
  expectImports(model.attribute("bias", std::vector<float>{1, 2, 3}).import(),
                {"smelt.mul", "smelt.add", "<[batch, 3, 8, 9], f32>"});
  ModelBuilder wrong = image("ImageScaler");
  expectFails(wrong.attribute("bias", std::vector<float>{1, 2}).import(),
              {"each channel has a bias"});
  expectFails(image("ImageScaler", "3 8 9").import(), {"needs images"});
}

TEST(OldOps, ACropTakesBordersOrASize) {
  expectImports(image("Crop").attribute("border", std::vector<int64_t>{1, 2, 3, 4}).import(),
                {"-> <[batch, 3, 2, 5], f32>"});
  expectImports(image("Crop")
                    .attribute("border", std::vector<int64_t>{1, 2, 0, 0})
                    .attribute("scale", std::vector<int64_t>{4, 3})
                    .import(),
                {"-> <[batch, 3, 4, 3], f32>"});
  expectFails(image("Crop").attribute("border", std::vector<int64_t>{5, 2, 5, 4}).import(),
              {"what is cropped lies within the image"});
  expectFails(image("Crop").import(), {"needs four numbers in 'border'"});
}

} // namespace
} // namespace smelt::test
