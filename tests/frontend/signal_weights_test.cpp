#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

TEST(SignalWeights, WindowsOfConstantAndSymbolicSizes) {
  ModelBuilder model(17);
  model.integer("size", 10).node("HannWindow", {"size"}).attribute("output_datatype", 10);
  expectImports(model.output("y").import(), {"smelt.iota", "smelt.cos", "<[10], f16>"});
  ModelBuilder symbolic(17);
  symbolic.input("x", DataType::FLOAT, "n").node("Shape", {"x"}, {"size"});
  symbolic.node("BlackmanWindow", {"size"}).attribute("periodic", 0).output("y");
  expectImports(symbolic.import(),
                {"-> (!smelt.tensor<[n], f32>", "n - 1", "smelt.cos", "smelt.cos"});
}

TEST(SignalWeights, MelWeightsNeedConstants) {
  ModelBuilder model(17);
  model.integer("bands", 8).integer("length", 16).integer("rate", 8192);
  model.floats("low", {}, {0}).input("high", DataType::FLOAT, "");
  model.node("MelWeightMatrix", {"bands", "length", "rate", "low", "high"}).output("y");
  expectFails(model.import(), {"must be constant"});
}

TEST(SignalWeights, MelBandsAreConstants) {
  auto weights = [](int64_t rate, float high) {
    ModelBuilder model(17);
    model.integer("bands", 8).integer("length", 16).integer("rate", rate);
    model.floats("low", {}, {0}).floats("high", {}, {high});
    model.node("MelWeightMatrix", {"bands", "length", "rate", "low", "high"}).output("y");
    return model.import();
  };
  expectImports(weights(8192, 4096), {"smelt.constant", "tensor<9x8xf64>", "<[9, 8], f32>"});
  expectFails(weights(4096, 8192), {"its edges lie outside the spectrum"});
}

} // namespace
} // namespace smelt::test
