#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

namespace smelt::test {
namespace {

ModelBuilder binary(const std::string &op, int32_t type) {
  ModelBuilder model;
  model.input("a", type, "n").input("b", type, "1").node(op, {"a", "b"}).output("y");
  return model;
}

TEST(Logic, ComparisonsYieldBools) {
  expectImports(binary("Less", DataType::FLOAT).import(),
                {"smelt.less %arg0, %arg1", "-> <[n], i1>"});
  expectImports(binary("Greater", DataType::FLOAT).import(), {"smelt.less %arg1, %arg0"});
  expectImports(binary("GreaterOrEqual", DataType::INT64).import(),
                {"smelt.less_equal %arg1, %arg0"});
  expectImports(binary("LessOrEqual", DataType::INT64).import(), {"smelt.less_equal %arg0, %arg1"});
  expectImports(binary("Equal", DataType::BOOL).import(), {"smelt.equal %arg0, %arg1"});
}

TEST(Logic, LogicNeedsBools) {
  expectImports(binary("And", DataType::BOOL).import(), {"smelt.and %arg0, %arg1"});
  expectFails(binary("Or", DataType::FLOAT).import(),
              {"Or: is not defined for an input 0 of type float"});
  ModelBuilder negation;
  negation.input("x", DataType::FLOAT, "n").node("Not", {"x"}).output("y");
  expectFails(negation.import(),
              {"Not: is not defined for an input 0 of type float: 'x' (float [n])"});
}

TEST(Logic, BitsOfIntegers) {
  expectImports(binary("BitwiseAnd", DataType::UINT32).import(),
                {"smelt.bit_and %arg0, %arg1", "-> <[n], ui32>"});
  expectImports(binary("BitwiseOr", DataType::INT8).import(), {"smelt.bit_or %arg0, %arg1"});
  expectImports(binary("BitwiseXor", DataType::UINT64).import(), {"smelt.bit_xor %arg0, %arg1"});
  ModelBuilder negation;
  negation.input("x", DataType::UINT16, "n").node("BitwiseNot", {"x"}).output("y");
  expectImports(negation.import(), {"smelt.bit_not %arg0 : <[n], ui16>"});
  expectFails(binary("BitwiseAnd", DataType::BOOL).import(),
              {"BitwiseAnd: is not defined for an input 0 of type bool"});
}

TEST(Logic, ShiftsHaveADirection) {
  auto shift = [](const std::string &direction) {
    return binary("BitShift", DataType::INT32).attribute("direction", direction).import();
  };
  expectImports(shift("LEFT"), {"smelt.shift_left %arg0, %arg1 : <[n], i32>, <[1], i32>"});
  expectImports(shift("RIGHT"), {"smelt.shift_right %arg0, %arg1"});
  expectFails(shift("UP"), {"BitShift: has the direction 'UP', which is not LEFT or RIGHT"});
}

TEST(Logic, WhereBroadcastsAllThree) {
  ModelBuilder model;
  model.input("c", DataType::BOOL, "n 1")
      .input("a", DataType::FLOAT, "3")
      .input("b", DataType::FLOAT, "");
  model.node("Where", {"c", "a", "b"}).output("y");
  expectImports(model.import(), {"smelt.select %arg0, %arg1, %arg2", "-> <[n, 3], f32>"});
}

TEST(Logic, IsInfOfOneSign) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "n")
      .node("IsInf", {"x"})
      .attribute("detect_positive", 0)
      .output("y");
  expectImports(model.import(), {"smelt.is_inf %arg0", "smelt.less %arg0", "smelt.and"});
}

} // namespace
} // namespace smelt::test
