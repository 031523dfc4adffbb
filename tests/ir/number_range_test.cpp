// What is known of numbers that are clipped, rounded and moved.
#include "ir/number_range.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <limits>

namespace smelt::test {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

class NumberRangeTest : public ::testing::Test {
protected:
  NumberRangeTest() { context.loadDialect<SmeltDialect, mlir::func::FuncDialect>(); }

  /// The %r of `body`, which names constants as below.
  mlir::Value returned(const std::string &body) {
    std::string text = "func.func @f(%x: !smelt.tensor<[4], f32>) -> !smelt.tensor<[4], f32> {\n";
    for (auto [name, number] : {std::pair{"low", "-128.0"},
                                {"high", "127.0"},
                                {"half", "2.5"},
                                {"negative", "-2.0"},
                                {"infinity", "0x7F800000"}})
      text += std::string("  %") + name + " = smelt.constant dense<" + number +
              "> : tensor<f32> : <[], f32>\n";
    text += body + "  return %r : !smelt.tensor<[4], f32>\n}\n";
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    auto function = *module->getOps<mlir::func::FuncOp>().begin();
    return function.getBody().front().getTerminator()->getOperand(0);
  }

  static std::string unary(const std::string &result, const std::string &op,
                           const std::string &input) {
    return "  %" + result + " = smelt." + op + " %" + input + " : <[4], f32>\n";
  }
  static std::string binary(const std::string &result, const std::string &op,
                            const std::string &lhs, const std::string &rhs) {
    return "  %" + result + " = smelt." + op + " %" + lhs + ", %" + rhs +
           " : <[4], f32>, <[], f32> -> <[4], f32>\n";
  }

  void expectRange(const std::string &body, NumberRange expected) {
    NumberRange range = rangeOf(returned(body));
    EXPECT_EQ(range.low, expected.low) << body;
    EXPECT_EQ(range.high, expected.high) << body;
    EXPECT_EQ(range.isWhole, expected.isWhole) << body;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  const std::string clipped = binary("a", "max", "x", "low") + binary("b", "min", "a", "high");
};

TEST_F(NumberRangeTest, ClipsBound) {
  expectRange(unary("r", "tanh", "x"), {-kUnbounded, kUnbounded, false});
  expectRange(unary("r", "relu", "x"), {0, kUnbounded, false});
  expectRange(clipped + unary("r", "relu", "b"), {0, 127, false});
  expectRange(clipped + binary("r", "min", "b", "half"), {-128, 2.5, false});
  expectRange(clipped + binary("r", "div", "b", "half"), {-51.2, 50.8, false});
}

TEST_F(NumberRangeTest, RoundedNumbersAreWhole) {
  const std::string rounded = clipped + unary("c", "round", "b");
  expectRange(unary("r", "round", "x"), {-kUnbounded, kUnbounded, true});
  expectRange(binary("a", "min", "x", "half") + unary("r", "round", "a"), {-kUnbounded, 2, true});
  expectRange(rounded + binary("r", "add", "c", "negative"), {-130, 125, true});
  expectRange(rounded + binary("r", "add", "c", "half"), {-125.5, 129.5, false});
  expectRange(rounded + binary("r", "max", "c", "half"), {2.5, 127, false});
}

TEST_F(NumberRangeTest, OthersAreUnknown) {
  const NumberRange unknown{-kUnbounded, kUnbounded, false};
  expectRange(clipped + binary("r", "div", "b", "negative"), unknown);
  expectRange("  %r = smelt.add %x, %x : <[4], f32>, <[4], f32> -> <[4], f32>\n", unknown);
  std::string longChain = clipped + unary("c0", "relu", "b"); // more ops than a quantisation has
  for (int i = 0; i < 8; ++i)
    longChain += unary("c" + std::to_string(i + 1), "round", "c" + std::to_string(i));
  EXPECT_EQ(rangeOf(returned(longChain + unary("r", "round", "c8"))).high, kUnbounded);
}

TEST_F(NumberRangeTest, BytesOfATypeAreWholeAndWithinIt) {
  auto i8 = mlir::IntegerType::get(&context, 8);
  auto ui8 = mlir::IntegerType::get(&context, 8, mlir::IntegerType::Unsigned);
  EXPECT_TRUE(isByte({-128, 127, true}, i8));
  EXPECT_FALSE(isByte({-128, 127, false}, i8));
  EXPECT_FALSE(isByte({-128, 128, true}, i8));
  EXPECT_FALSE(isByte({-129, 127, true}, i8));
  EXPECT_TRUE(isByte({0, 255, true}, ui8));
  EXPECT_FALSE(isByte({-1, 255, true}, ui8));
  EXPECT_FALSE(isByte({0, 256, true}, ui8));
  EXPECT_FALSE(isByte({0, 1, true}, mlir::IntegerType::get(&context, 16)));
}

TEST_F(NumberRangeTest, OnlyRoundedThroughClips) {
  auto isFirstOnlyRounded = [&](const std::string &behind) {
    mlir::Value last = returned(unary("t", "tanh", "x") + behind);
    mlir::Value first;
    last.getParentBlock()->walk([&](TanhOp op) { first = op.getOutput(); });
    return isOnlyRounded(first);
  };
  EXPECT_TRUE(isFirstOnlyRounded(unary("r", "round", "t")));
  EXPECT_TRUE(isFirstOnlyRounded(binary("a", "min", "t", "high") + unary("b", "relu", "a") +
                                 unary("r", "round", "b")));
  EXPECT_FALSE(isFirstOnlyRounded(binary("r", "min", "t", "high")));
  EXPECT_FALSE(
      isFirstOnlyRounded(unary("a", "round", "t") +
                         "  %r = smelt.add %a, %t : <[4], f32>, <[4], f32> -> <[4], f32>\n"));
  EXPECT_FALSE(isFirstOnlyRounded(unary("r", "relu", "x"))); // nobody reads it
}

TEST_F(NumberRangeTest, LiteralsAreSingleNumbersOfF32) {
  auto numberOf = [&](const std::string &type, const std::string &text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(
        "func.func @f() -> !smelt.tensor<[2], " + type + "> {\n  %r = smelt.constant dense<" +
            text + "> : tensor<2x" + type + "> : <[2], " + type +
            ">\n  return %r : !smelt.tensor<[2], " + type + ">\n}\n",
        &context);
    auto function = *module->getOps<mlir::func::FuncOp>().begin();
    return literalNumber(function.getBody().front().getTerminator()->getOperand(0));
  };
  EXPECT_EQ(numberOf("f32", "2.5"), 2.5);
  EXPECT_EQ(numberOf("f32", "[1.0, 2.0]"), std::nullopt);
  EXPECT_EQ(numberOf("f16", "2.5"), std::nullopt);
  EXPECT_EQ(numberOf("i32", "2"), std::nullopt);
}

} // namespace
} // namespace smelt::test
