#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder transform(const std::string &shape, int64_t opset = 20) {
  ModelBuilder model(opset);
  model.input("x", DataType::FLOAT, shape).node("DFT", {"x"}).output("y");
  return model;
}

TEST(Signal, TransformsAreProducts) {
  expectImports(transform("b 8 1").import(),
                {"-> (!smelt.tensor<[b, 8, 2], f32>", "smelt.cos", "-> <[8, 16], f32>",
                 "smelt.matmul", "smelt.reshape"});
  expectImports(transform("b 8 2").attribute("inverse", 1).import(),
                {"-> (!smelt.tensor<[b, 8, 2], f32>", "smelt.div", "-> <[16, 16], f32>"});
  expectImports(transform("b n 1").attribute("onesided", 1).import(),
                {"-> (!smelt.tensor<[b, floordiv(n, 2) + 1, 2], f32>"});
  expectImports(transform("b 5 2").attribute("onesided", 1).attribute("inverse", 1).import(),
                {"-> (!smelt.tensor<[b, 8, 1], f32>", "smelt.select", "smelt.matmul"});
}

TEST(Signal, TransformedAxis) {
  expectImports(transform("8 b 1", 17).attribute("axis", 0).import(),
                {"-> (!smelt.tensor<[8, b, 2], f32>", "smelt.transpose %arg0"});
  expectFails(transform("8 b 1", 17).attribute("axis", 2).import(), {"the last axis"});
  expectFails(transform("8 4", 17).attribute("axis", 0).import(),
              {"the size of the last axis must be constant"});
  expectFails(transform("b 8 2").attribute("onesided", 1).import(), {"a one-sided transform"});
}

TEST(Signal, LengthPadsOrCuts) {
  auto withLength = [](int64_t length) {
    ModelBuilder model(20);
    model.input("x", DataType::FLOAT16, "b 8 1").integer("length", length);
    model.node("DFT", {"x", "length"}).output("y");
    return model.import();
  };
  expectImports(withLength(5), {"smelt.slice %arg0", "smelt.cast", "-> <[5, 10], f32>"});
  expectImports(withLength(16), {"-> (!smelt.tensor<[b, 16, 2], f16>", "-> <[8, 32], f32>"});
}

ModelBuilder frames(const std::string &signal) {
  ModelBuilder model(17);
  model.input("x", DataType::FLOAT, signal).integer("step", 4);
  model.input("w", DataType::FLOAT, "16").node("STFT", {"x", "step", "w"}).output("y");
  return model;
}

TEST(Signal, RefusesSizesThatOverflow) {
  ModelBuilder model(20);
  model.input("x", DataType::FLOAT, "b 8 1").integer("length", int64_t{1} << 62);
  model.node("DFT", {"x", "length"}).output("y");
  expectFails(model.import(), {"the length of the transform, 4611686018427387904, has too many"});
  ModelBuilder large(20);
  large.input("x", DataType::FLOAT, "b 65536 1").node("DFT", {"x"}).output("y");
  expectFails(large.import(), {"a transform of 65536 points is not supported"});
}

TEST(Signal, RefusesSpectraWithoutALength) {
  for (const char *shape : {"b 0 2", "b 1 2"})
    expectFails(transform(shape).attribute("onesided", 1).attribute("inverse", 1).import(),
                {"half of a spectrum of ", "tells no length of a signal"});
}

TEST(Signal, FramesOverlap) {
  expectImports(frames("b 64 1").import(), {"-> (!smelt.tensor<[b, 13, 9, 2], f32>",
                                            "smelt.windows %arg0", "smelt.mul", "smelt.matmul"});
  expectImports(frames("b n 1").import(), {"floordiv(n, 4) - 3", "smelt.windows"});
  expectFails(frames("b 64 2").import(), {"a one-sided transform needs real numbers"});
  expectFails(frames("b 8 1").import(), {"the signal holds a frame"});
}

} // namespace
} // namespace smelt::test
