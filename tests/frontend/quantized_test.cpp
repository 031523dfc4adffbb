#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder quantize(const std::string &op, int32_t type, const std::string &scale) {
  ModelBuilder model(25);
  bool isForward = op == "QuantizeLinear";
  model.input("x", isForward ? int32_t(DataType::FLOAT) : type, "b 3 w")
      .input("s", DataType::FLOAT, scale)
      .input("z", type, scale);
  model.node(op, {"x", "s", "z"}).output("y");
  return model;
}

TEST(Quantized, QuantizesAndDequantizesAlongAnAxis) {
  expectImports(quantize("QuantizeLinear", DataType::INT8, "3").import(),
                {"smelt.reshape %arg1", "-> <[3, 1], f32>", "smelt.div", "smelt.round", "smelt.add",
                 "dense<-1.280000e+02>", "smelt.max", "dense<1.270000e+02>", "smelt.min",
                 "-> <[b, 3, w], i8>"});
  expectImports(quantize("DequantizeLinear", DataType::INT16, "w").attribute("axis", -1).import(),
                {"smelt.sub", ": <[b, 3, w], f32>, <[w], f32>", "smelt.mul", "<[w], f32>"});
  expectImports(quantize("DequantizeLinear", DataType::UINT8, "")
                    .attribute("output_dtype", int64_t{DataType::FLOAT16})
                    .import(),
                {"smelt.sub", "smelt.mul", "-> <[b, 3, w], f16>"});
}

TEST(Quantized, KnownZeroPointsAreTakenOffTheClip) {
  ModelBuilder model(21);
  model.input("x", DataType::FLOAT, "b").input("s", DataType::FLOAT, "");
  auto *zero = model.graph().add_initializer();
  zero->set_name("z"), zero->set_data_type(DataType::INT8), zero->add_int32_data(-128);
  model.node("QuantizeLinear", {"x", "s", "z"}, {"q"});
  model.node("DequantizeLinear", {"q", "s", "z"});
  expectImports(model.output("y").import(),
                {"smelt.div", "dense<0.000000e+00>", "smelt.max", "dense<2.550000e+02>",
                 "smelt.min", "smelt.round", "smelt.add", "-> <[b], i8>", "smelt.sub",
                 "smelt.mul"});
}

TEST(Quantized, ScalesOfBlocksAreRepeated) {
  expectImports(
      quantize("QuantizeLinear", DataType::INT8, "b 2 w").attribute("block_size", 2).import(),
      {"<[b, 2, w], f32> -> <[b, 2, 1, w], f32>", "smelt.expand", "<[b, 2, 2, w], f32>",
       "smelt.slice", "-> <[b, 3, w], f32>", "smelt.div", "-> <[b, 3, w], i8>"});
  expectImports(
      quantize("DequantizeLinear", DataType::UINT4, "b 2 w").attribute("block_size", 2).import(),
      {"<[b, 3, w], ui4> -> <[b, 3, w], f32>", "<[b, 2, 2, w], ui4>", "smelt.sub"});
}

TEST(Quantized, RefusesOtherShapesAndTypes) {
  expectFails(quantize("QuantizeLinear", DataType::INT8, "3 w").import(),
              {"needs attribute 'block_size' for", "'s' (float [3, w])"});
  expectFails(quantize("QuantizeLinear", DataType::INT8, "2 w").attribute("block_size", 2).import(),
              {"must be of the rank of its data, 3"});
  expectFails(
      quantize("QuantizeLinear", DataType::INT8, "b 3 w").attribute("block_size", 2).import(),
      {"one for each block along the axis"});
  expectFails(quantize("DequantizeLinear", DataType::INT8, "4").import(), {"needs 4 = 3"});
  ModelBuilder model(25);
  model.input("x", DataType::FLOAT, "b").input("s", DataType::FLOAT, "");
  model.node("QuantizeLinear", {"x", "s"}).attribute("output_dtype", int64_t{DataType::INT32});
  expectFails(model.output("y").import(), {"attribute 'output_dtype': int32 is not supported"});
}

TEST(Quantized, FloatsOfFewBits) {
  ModelBuilder model(25);
  model.input("x", DataType::FLOAT16, "b").input("s", DataType::FLOAT16, "");
  model.node("QuantizeLinear", {"x", "s"}, {"q"})
      .attribute("output_dtype", int64_t{DataType::FLOAT8E4M3FN})
      .attribute("precision", int64_t{DataType::FLOAT16});
  model.node("DequantizeLinear", {"q", "s"}).output("y");
  expectImports(model.import(), {"smelt.div", "-> <[b], f16>", "dense<-4.480000e+02>", "smelt.max",
                                 "smelt.min", "-> <[b], f8E4M3FN>", "smelt.mul", "-> <[b], f16>"});
}

TEST(Quantized, TheQuotientIsRoundedToTheTypeOfTheScale) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT16, "b").input("s", DataType::FLOAT16, "");
  model.node("QuantizeLinear", {"x", "s"}, {"q"}).output("q");
  expectImports(model.import(), {"smelt.div", "-> <[b], f32>", "smelt.cast", "-> <[b], f16>",
                                 "smelt.cast", "-> <[b], f32>", "smelt.round"});
}

TEST(Quantized, TheRangeOfTheDataGivesTheScale) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "b w");
  model.node("DynamicQuantizeLinear", {"x"}, {"y", "s", "z"}).output("y").output("s").output("z");
  expectImports(model.import(), {"smelt.reduce", "smelt.reduce", "smelt.select", "smelt.round",
                                 "-> <[], ui8>", "smelt.div %arg0", "-> <[b, w], ui8>", "return"});
}

} // namespace
} // namespace smelt::test
