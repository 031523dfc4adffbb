#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder integerConv(const std::string &data, const std::string &filter) {
  ModelBuilder model;
  model.input("x", DataType::UINT8, data).input("w", DataType::INT8, filter);
  return model;
}

TEST(QuantizedConv, IsAProductOfBytes) {
  ModelBuilder model = integerConv("n 4 9 9", "6 2 3 3");
  model.node("ConvInteger", {"x", "w"}).attribute("group", 2).output("y");
  expectImports(model.import(),
                {"<[n, 2, 2, 9, 9], ui8>", "smelt.windows", "smelt.transpose",
                 "<[n, 2, 49, 18], ui8>", "smelt.matmul",
                 "<[2, 18, 3], i8> -> <[n, 2, 49, 3], i32>", "<[n, 6, 7, 7], i32>"});
}

TEST(QuantizedConv, PadsWithTheZeroPoint) {
  ModelBuilder model = integerConv("1 1 w", "1 1 3");
  model.input("zx", DataType::UINT8, "").input("zw", DataType::INT8, "1");
  model.node("ConvInteger", {"x", "w", "zx", "zw"})
      .attribute("pads", std::vector<int64_t>{1, 1})
      .output("y");
  expectImports(model.import(), {"smelt.expand %arg2", "smelt.concat", "smelt.matmul",
                                 "smelt.reduce", "smelt.sub", "<[1, 1, w], i32>"});
}

ModelBuilder quantizedConv(const std::string &scale) {
  ModelBuilder model = integerConv("n 2 h w", "4 2 1 1");
  for (const char *name : {"sx", "sy"})
    model.input(name, DataType::FLOAT, "");
  model.input("sw", DataType::FLOAT, scale).input("zx", DataType::UINT8, "");
  model.input("zw", DataType::INT8, scale).input("zy", DataType::INT8, "");
  model.input("b", DataType::INT32, "4");
  model.node("QLinearConv", {"x", "sx", "zx", "w", "sw", "zw", "sy", "zy", "b"}).output("y");
  return model;
}

TEST(QuantizedConv, QLinearConvScalesEachFilter) {
  expectImports(quantizedConv("4").import(),
                {"smelt.matmul", "<[4, 1, 1], i32>", "smelt.add", "<[4, 1, 1], f32>", "smelt.mul",
                 "smelt.div", "smelt.round", "-> <[n, 4, h, w], i8>"});
}

TEST(QuantizedConv, RefusesWhatDoesNotFit) {
  expectFails(quantizedConv("3").import(), {"does not fit the filter"});
  ModelBuilder groups = integerConv("1 4 8", "3 2 3");
  groups.node("ConvInteger", {"x", "w"}).attribute("group", 2).output("y");
  expectFails(groups.import(), {"does not divide into 2 groups"});
  ModelBuilder large = integerConv("1 1 2", "1 1 3");
  large.node("ConvInteger", {"x", "w"}).output("y");
  expectFails(large.import(), {"the filter fits into the padded input"});
}

} // namespace
} // namespace smelt::test
