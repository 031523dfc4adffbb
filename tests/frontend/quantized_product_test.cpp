#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder quantizedOperands(const std::string &left, const std::string &right,
                               int32_t leftType = DataType::UINT8,
                               int32_t rightType = DataType::INT8) {
  ModelBuilder model;
  model.input("a", leftType, left).input("b", rightType, right);
  return model;
}

TEST(QuantizedProduct, MatMulIntegerWithoutZeroPoints) {
  expectImports(
      quantizedOperands("m k", "k n").node("MatMulInteger", {"a", "b"}).output("y").import(),
      {"smelt.matmul %arg0, %arg1 : <[m, k], ui8>, <[k, n], i8> -> <[m, n], i32>", "return %0"});
  expectImports(
      quantizedOperands("k", "k n").node("MatMulInteger", {"a", "b"}).output("y").import(),
      {"smelt.reshape %arg0", "smelt.matmul", "-> <[n], i32>"});
}

TEST(QuantizedProduct, QLinearMatMulOfFloatsOf8Bits) {
  ModelBuilder model(21);
  int32_t type = DataType::FLOAT8E4M3FN;
  model.input("a", type, "m k")
      .input("b", type, "k n")
      .input("za", type, "")
      .input("zb", type, "n");
  model.input("zy", type, "").input("sb", DataType::FLOAT, "n");
  for (const char *name : {"sa", "sy"})
    model.input(name, DataType::FLOAT, "");
  model.node("QLinearMatMul", {"a", "sa", "za", "b", "sb", "zb", "sy", "zy"}).output("y");
  expectImports(model.import(), {"smelt.sub", "smelt.mul", "smelt.matmul", "-> <[m, n], f32>",
                                 "smelt.div", "smelt.add", "smelt.min", "-> <[m, n], f8E4M3FN>"});
}

/// An initializer of bytes.
void addBytes(ModelBuilder &model, const std::string &name, const std::vector<int64_t> &dims,
              const std::string &bytes) {
  onnx_wire::Tensor &tensor = *model.graph().add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(DataType::UINT8);
  for (int64_t dim : dims)
    tensor.add_dims(dim);
  tensor.set_raw_data(bytes);
}

TEST(QuantizedProduct, AZeroPointOfZeroCostsNothing) {
  ModelBuilder model = quantizedOperands("m k", "k n");
  addBytes(model, "za", {}, std::string(1, '\0'));
  model.node("MatMulInteger", {"a", "b", "za"}).output("y");
  Imported imported = model.import();
  expectImports(imported, {"smelt.matmul"});
  EXPECT_EQ(imported.text.find("smelt.sub"), std::string::npos) << imported.text;
}

TEST(QuantizedProduct, AWeightAroundTheMiddleBecomesOneWithASign) {
  ModelBuilder model;
  model.input("a", DataType::UINT8, "m 2");
  addBytes(model, "b", {2, 3}, "\x01\x7f\x80\x81\xfe\xff");
  addBytes(model, "zb", {1}, "\x80");
  model.node("MatMulInteger", {"a", "b", "", "zb"}).output("y");
  Imported imported = model.import();
  expectImports(imported, {"smelt.sub", "smelt.cast", "-> <[2, 3], i8>", "smelt.matmul %arg0, %",
                           ": <[m, 2], ui8>, <[2, 3], i8>"});
  EXPECT_EQ(imported.text.find("smelt.reduce"), std::string::npos) << imported.text;
}

TEST(QuantizedProduct, ZeroPointsLeaveTheProductInBytes) {
  ModelBuilder model = quantizedOperands("batch m k", "k n");
  model.input("za", DataType::UINT8, "").input("zb", DataType::INT8, "n");
  model.node("MatMulInteger", {"a", "b", "za", "zb"}).output("y");
  expectImports(model.import(), {"smelt.reshape", "-> <[1, n], i32>",
                                 "smelt.matmul %arg0, %arg1 : <[batch, m, k], ui8>, <[k, n], i8>",
                                 "smelt.cast %arg1", "smelt.sub", "smelt.reduce", "axes [0]",
                                 "smelt.mul", "smelt.sub", "smelt.cast %arg0", "smelt.reduce",
                                 "axes [2]", "smelt.mul", "smelt.sub", "-> <[batch, m, n], i32>"});
}

TEST(QuantizedProduct, AZeroPointForEachRow) {
  ModelBuilder model = quantizedOperands("m k", "k n");
  model.input("za", DataType::UINT8, "m");
  model.node("MatMulInteger", {"a", "b", "za"}).output("y");
  expectImports(model.import(),
                {"-> <[m, 1], i32>", "smelt.mul", ": <[m, 1], i32>, <[1, n], i32>"});
}

TEST(QuantizedProduct, RefusesWhatDoesNotFit) {
  ModelBuilder other = quantizedOperands("m k", "k n");
  other.input("za", DataType::INT8, "").node("MatMulInteger", {"a", "b", "za"}).output("y");
  expectFails(other.import(), {"must have one type"});
  ModelBuilder rank = quantizedOperands("2 m k", "k n");
  rank.input("za", DataType::UINT8, "m 1").node("MatMulInteger", {"a", "b", "za"}).output("y");
  expectFails(rank.import(), {"'za' (uint8 [m, 1])", "nor of the rank of its matrix, 3"});
  ModelBuilder count = quantizedOperands("4 3", "3 5");
  count.input("zb", DataType::INT8, "4").node("MatMulInteger", {"a", "b", "", "zb"}).output("y");
  expectFails(count.import(), {"needs 4 = 5", "for each column"});
  expectFails(
      quantizedOperands("m k", "k n", DataType::FLOAT).node("MatMulInteger", {"a", "b"}).import(),
      {"not defined for an input 0 of type float"});
}

TEST(QuantizedProduct, QLinearMatMulRoundsToBytes) {
  ModelBuilder model = quantizedOperands("m k", "k n");
  for (const char *name : {"sa", "sy"})
    model.input(name, DataType::FLOAT, "");
  model.input("sb", DataType::FLOAT, "n");
  model.input("za", DataType::UINT8, "")
      .input("zb", DataType::INT8, "n")
      .input("zy", DataType::INT8, "");
  model.node("QLinearMatMul", {"a", "sa", "za", "b", "sb", "zb", "sy", "zy"}).output("y");
  expectImports(model.import(),
                {"smelt.matmul", "-> <[m, n], i32>", "smelt.mul", "smelt.div", "smelt.round",
                 "smelt.add", "smelt.max", "smelt.min", "smelt.cast", "-> <[m, n], i8>"});
}

} // namespace
} // namespace smelt::test
