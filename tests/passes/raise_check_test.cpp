// The numeric check itself: what agrees passes, what differs anywhere is refused, whatever the
// reason.
#include "passes/raise/raise_check.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

namespace smelt::passes {
namespace {

class RaiseCheckTest : public testing::Test {
protected:
  RaiseCheckTest() : context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<SmeltDialect, mlir::func::FuncDialect>();
  }

  /// Checks the two results of @main against each other, its arguments being the leaves.
  RaiseCheck check(const std::string &body, double tolerance = 1e-6) {
    std::string text =
        R"(func.func @main(%x: !smelt.tensor<[b, s, 8], f32>, %m: !smelt.tensor<[b, s], i1>)
        -> (!smelt.tensor<[b, s, 8], f32>, !smelt.tensor<[b, s, 8], f32>) {
        %zero = smelt.constant dense<0.0> : tensor<f32> : <[], f32>
        %half = smelt.constant dense<0.5> : tensor<f32> : <[], f32>
        %inf = smelt.constant dense<0x7F800000> : tensor<f32> : <[], f32>)" +
        body + "}";
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    auto function = *module->getOps<mlir::func::FuncOp>().begin();
    mlir::Operation *terminator = function.getBody().front().getTerminator();
    return RaiseChecker(*module).check(terminator->getOperand(0), terminator->getOperand(1),
                                       llvm::to_vector_of<mlir::Value>(function.getArguments()),
                                       tolerance);
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

constexpr const char *kReturn =
    "return %a, %r : !smelt.tensor<[b, s, 8], f32>, !smelt.tensor<[b, s, 8], f32>";

TEST_F(RaiseCheckTest, AcceptsWhatAgrees) {
  RaiseCheck result = check(std::string(R"(
    %p = smelt.sigmoid %x : <[b, s, 8], f32>
    %a = smelt.mul %x, %p : <[b, s, 8], f32>, <[b, s, 8], f32> -> <[b, s, 8], f32>
    %r = smelt.silu %x : <[b, s, 8], f32>
    )") + kReturn);
  EXPECT_TRUE(result.agrees) << result.problem;
  EXPECT_LT(result.error, 1e-12);
}

TEST_F(RaiseCheckTest, RefusesAnotherFunction) {
  RaiseCheck result = check(std::string(R"(
    %a = smelt.gelu %x : <[b, s, 8], f32>
    %r = smelt.silu %x : <[b, s, 8], f32>
    )") + kReturn);
  EXPECT_FALSE(result.agrees);
  EXPECT_GT(result.error, 1e-2);
}

// The two GELUs differ by a few parts in ten thousand: the tolerance decides.
TEST_F(RaiseCheckTest, HoldsToTheTolerance) {
  std::string body = std::string(R"(
    %a = smelt.gelu %x : <[b, s, 8], f32>
    %r = smelt.gelu %x tanh : <[b, s, 8], f32>
    )") + kReturn;
  EXPECT_FALSE(check(body, 1e-5).agrees);
  EXPECT_TRUE(check(body, 1e-2).agrees);
}

TEST_F(RaiseCheckTest, RefusesInfinitiesAtOtherPlaces) {
  RaiseCheck result = check(std::string(R"(
    %rows = smelt.reshape %m : <[b, s], i1> -> <[b, s, 1], i1>
    %a = smelt.select %rows, %x, %inf : <[b, s, 1], i1>, <[b, s, 8], f32>, <[], f32> -> <[b, s, 8], f32>
    %r = smelt.mul %x, %inf : <[b, s, 8], f32>, <[], f32> -> <[b, s, 8], f32>
    )") + kReturn);
  EXPECT_FALSE(result.agrees);
  EXPECT_EQ(result.problem, "infinities or NaN stand at different places");
}

TEST_F(RaiseCheckTest, RefusesWhatCannotBeEvaluated) {
  RaiseCheck result = check(std::string(R"(
    %w = smelt.weight "w" <"missing.bin", 0, 32, ""> : <[8], f32>
    %a = smelt.add %x, %w : <[b, s, 8], f32>, <[8], f32> -> <[b, s, 8], f32>
    %r = smelt.add %w, %x : <[8], f32>, <[b, s, 8], f32> -> <[b, s, 8], f32>
    )") + kReturn);
  EXPECT_FALSE(result.agrees);
  EXPECT_FALSE(result.problem.empty());
}

// A difference that only shows where no row of a random mask is left, or only for one element.
TEST_F(RaiseCheckTest, SeesOneElement) {
  RaiseCheck result = check(std::string(R"(
    %first = smelt.slice %x starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1] : <[b, s, 8], f32> -> <[b, s, 1], f32>
    %rest = smelt.slice %x starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<1>] steps [1, 1, 1] : <[b, s, 8], f32> -> <[b, s, 7], f32>
    %changed = smelt.mul %first, %half : <[b, s, 1], f32>, <[], f32> -> <[b, s, 1], f32>
    %a = smelt.concat %first, %rest axis 2 : !smelt.tensor<[b, s, 1], f32>, !smelt.tensor<[b, s, 7], f32> -> <[b, s, 8], f32>
    %r = smelt.concat %changed, %rest axis 2 : !smelt.tensor<[b, s, 1], f32>, !smelt.tensor<[b, s, 7], f32> -> <[b, s, 8], f32>
    )") + kReturn);
  EXPECT_FALSE(result.agrees);
}

// Long fixed sequences are checked at small sizes; what only holds at the small ones is refused all
// the same.
TEST_F(RaiseCheckTest, ShrinksFixedSizes) {
  std::string prefix = R"(
    %long = smelt.expand %x : <[b, s, 8], f32> -> <[20000, b, s, 8], f32>
    %mean = smelt.reduce mean %long axes [0] : <[20000, b, s, 8], f32> -> <[1, b, s, 8], f32>
    %sum = smelt.reduce sum %long axes [0] : <[20000, b, s, 8], f32> -> <[1, b, s, 8], f32>
    %a = smelt.reshape %mean : <[1, b, s, 8], f32> -> <[b, s, 8], f32>)";
  RaiseCheck right = check(prefix + R"(
    %count = smelt.constant dense<20000.0> : tensor<f32> : <[], f32>
    %quotient = smelt.div %sum, %count : <[1, b, s, 8], f32>, <[], f32> -> <[1, b, s, 8], f32>
    %r = smelt.reshape %quotient : <[1, b, s, 8], f32> -> <[b, s, 8], f32>
    )" + kReturn);
  EXPECT_TRUE(right.agrees) << right.error;
  RaiseCheck wrong = check(prefix + R"(
    %count = smelt.constant dense<5.0> : tensor<f32> : <[], f32>
    %quotient = smelt.div %sum, %count : <[1, b, s, 8], f32>, <[], f32> -> <[1, b, s, 8], f32>
    %r = smelt.reshape %quotient : <[1, b, s, 8], f32> -> <[b, s, 8], f32>
    )" + kReturn);
  EXPECT_FALSE(wrong.agrees);
}

// Petabytes: refused before anything is allocated. The reshape ties the sizes together, so that
// none can shrink.
TEST_F(RaiseCheckTest, RefusesWhatIsTooLarge) {
  RaiseCheck result = check(std::string(R"(
    %l = smelt.expand %x : <[b, s, 8], f32> -> <[4294967296, b, s, 8], f32>
    %t = smelt.reshape %l : <[4294967296, b, s, 8], f32> -> <[65536, 65536, b, s, 8], f32>
    %max = smelt.reduce max %t axes [0, 1] : <[65536, 65536, b, s, 8], f32> -> <[1, 1, b, s, 8], f32>
    %a = smelt.reshape %max : <[1, 1, b, s, 8], f32> -> <[b, s, 8], f32>
    %min = smelt.reduce min %t axes [0, 1] : <[65536, 65536, b, s, 8], f32> -> <[1, 1, b, s, 8], f32>
    %r = smelt.reshape %min : <[1, 1, b, s, 8], f32> -> <[b, s, 8], f32>
    )") + kReturn);
  EXPECT_FALSE(result.agrees);
  EXPECT_EQ(result.problem, "its constant sizes are too large for the check");
}

} // namespace
} // namespace smelt::passes
