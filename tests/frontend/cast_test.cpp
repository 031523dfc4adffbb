#include "frontend/ops/cast.h"

#include "ir/interpret/small_float.h"
#include "tests/frontend/formula_fixture.h"
#include "tests/frontend/model_builder.h"

#include <gtest/gtest.h>

#include <cmath>

namespace smelt::test {
namespace {

using namespace mlir;
using frontend::CastRules;

TEST(Cast, CastsAndRefusesUnknownTypes) {
  ModelBuilder model;
  model.input("x", DataType::FLOAT, "3").node("Cast", {"x"}).attribute("to", 9).output("y");
  expectImports(model.import(), {"smelt.cast %arg0", "-> <[3], i1>"});
  ModelBuilder strings;
  strings.input("x", DataType::FLOAT, "3").node("Cast", {"x"}).attribute("to", 8).output("y");
  expectFails(strings.import(), {"conversion to string is not supported"});
}

TEST(Cast, BitCastKeepsTheBits) {
  auto reinterpret = [](int32_t from, int32_t to) {
    ModelBuilder model(26);
    model.input("x", from, "n").node("BitCast", {"x"}).attribute("to", to).output("y");
    return model.import();
  };
  expectImports(reinterpret(DataType::FLOAT, DataType::UINT32),
                {"smelt.bitcast %arg0 : <[n], f32> -> <[n], ui32>"});
  expectImports(reinterpret(DataType::BFLOAT16, DataType::FLOAT16), {"smelt.bitcast %arg0"});
  expectImports(reinterpret(DataType::INT64, DataType::INT64), {"return %arg0"});
  expectImports(reinterpret(DataType::BOOL, DataType::UINT8),
                {"smelt.cast %arg0 : <[n], i1> -> <[n], ui8>"});
  expectFails(reinterpret(DataType::INT8, DataType::BOOL), {"as bool is not supported"});
  expectFails(reinterpret(DataType::FLOAT, DataType::DOUBLE),
              {"BitCast: cannot read the bits of float as double, which has another width"});
}

TEST(Cast, CastLikeTakesTheOthersType) {
  ModelBuilder model;
  model.input("a", DataType::FLOAT, "batch 3").input("b", DataType::FLOAT16, "3");
  model.node("CastLike", {"a", "b"}).output("y");
  expectImports(model.import(), {"smelt.cast %arg0", "f16>"});
}

TEST(Cast, TypesForStorageAlone) {
  for (auto [to, name] : {std::pair<int32_t, const char *>(DataType::FLOAT8E4M3FN, "f8E4M3FN"),
                          {DataType::FLOAT8E4M3FNUZ, "f8E4M3FNUZ"},
                          {DataType::FLOAT8E5M2, "f8E5M2"},
                          {DataType::FLOAT8E5M2FNUZ, "f8E5M2FNUZ"},
                          {DataType::FLOAT4E2M1, "f4E2M1FN"},
                          {DataType::FLOAT8E8M0, "f8E8M0FNU"},
                          {DataType::INT4, "i4"},
                          {DataType::UINT4, "ui4"},
                          {DataType::INT2, "i2"},
                          {DataType::UINT2, "ui2"}}) {
    ModelBuilder model(24);
    model.input("x", DataType::FLOAT, "n").node("Cast", {"x"}).attribute("to", to).output("y");
    expectImports(model.import(), {std::string("<[n], ") + name + ">"});
  }
  ModelBuilder sum(24);
  sum.input("x", DataType::FLOAT8E5M2, "n").node("Add", {"x", "x"}).output("y");
  expectFails(sum.import(), {"is not defined for an input 0 of type float8e5m2"});
}

class CastTest : public FormulaFixture, public testing::Test {
protected:
  std::vector<double> through(Type target, const std::vector<double> &values, CastRules rules) {
    Type real = Float64Type::get(target.getContext());
    return evaluated(
        build().cast(frontend::castByRules(build(), numbers(values), target, rules), real));
  }
};

TEST_F(CastTest, SaturationKeepsTheLargestNumber) {
  Type e4m3 = Float8E4M3FNType::get(build().getContext()),
       e5m2 = Float8E5M2Type::get(build().getContext());
  EXPECT_EQ(through(e4m3, {1e6, -INFINITY, 464, 500, 1.06}, {}),
            (std::vector<double>{448, -448, 448, 448, 1.0}));
  EXPECT_EQ(through(e5m2, {1e6, -INFINITY}, {}), (std::vector<double>{57344, -57344}));
  EXPECT_EQ(through(e5m2, {1e6, -INFINITY, 60000}, {false}),
            (std::vector<double>{INFINITY, -INFINITY, 57344}));
  std::vector<double> beyond = through(e4m3, {464, 465, INFINITY, NAN}, {false});
  EXPECT_EQ(beyond[0], 448);
  for (size_t i : {1, 2, 3})
    EXPECT_TRUE(std::isnan(beyond[i]));
  EXPECT_TRUE(std::isnan(through(e4m3, {NAN}, {})[0]));
}

TEST_F(CastTest, ScalesRoundAsTheModeSays) {
  Type scale = Float8E8M0FNUType::get(build().getContext());
  std::vector<double> values = {1, 1.1, 1.5, 1.9, std::ldexp(1.0, -127), 1e-40};
  double least = std::ldexp(1.0, -127);
  EXPECT_EQ(through(scale, values, {true, "up"}), (std::vector<double>{1, 2, 2, 2, least, least}));
  EXPECT_EQ(through(scale, values, {true, "down"}),
            (std::vector<double>{1, 1, 1, 1, least, least}));
  EXPECT_EQ(through(scale, values, {true, "nearest"}),
            (std::vector<double>{1, 1, 2, 2, least, least}));
  EXPECT_EQ(through(scale, {0, 3e38, INFINITY}, {true, "up"}),
            (std::vector<double>{least, std::ldexp(1.0, 127), std::ldexp(1.0, 127)}));
  for (double value : through(scale, {0, 3e38, INFINITY, 1e-40, NAN}, {false, "nearest"}))
    EXPECT_TRUE(std::isnan(value));
}

TEST_F(CastTest, IntegersOfFewBitsWrapAround) {
  MLIRContext *context = build().getContext();
  EXPECT_EQ(through(IntegerType::get(context, 4), {-9, 8.7, 7, -8}, {}),
            (std::vector<double>{7, -8, 7, -8}));
  EXPECT_EQ(through(IntegerType::get(context, 2, IntegerType::Unsigned), {-1, 5, 2.9}, {}),
            (std::vector<double>{3, 1, 2}));
}

} // namespace
} // namespace smelt::test
