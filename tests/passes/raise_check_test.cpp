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
    return checkModule(text, tolerance);
  }

  /// The same for a function of other types: its arguments, its results' shape, and its body.
  RaiseCheck checkFunction(const std::string &arguments, const std::string &shape,
                           const std::string &body, const std::string &header = "module {") {
    std::string type = "!smelt.tensor<" + shape + ", f32>";
    return checkModule(header + "func.func @main(" + arguments + ") -> (" + type + ", " + type +
                           ") {" + body + "}}",
                       1e-6);
  }

  static std::string replaced(std::string text, const std::string &word, const std::string &by) {
    return text.replace(text.find(word), word.size(), by);
  }

  RaiseCheck checkModule(const std::string &text, double tolerance) {
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

// Channels and positions of one size are shrunk apart: 512 channels are 8 heads of 64, 512 positions
// are no such product. At full size the scores alone are 2^31 elements.
TEST_F(RaiseCheckTest, ShrinksAxesOfOneSizeApart) {
  std::string body = R"(
    %0 = smelt.reshape %x : <[1024, 512, 512], f32> -> <[1024, 512, 8, 64], f32>
    %q = smelt.transpose %0 [0, 2, 1, 3] : <[1024, 512, 8, 64], f32> -> <[1024, 8, 512, 64], f32>
    %k = smelt.transpose %0 [0, 2, 3, 1] : <[1024, 512, 8, 64], f32> -> <[1024, 8, 64, 512], f32>
    %s = smelt.matmul %q, %k : <[1024, 8, 512, 64], f32>, <[1024, 8, 64, 512], f32> -> <[1024, 8, 512, 512], f32>
    %p = smelt.softmax %s axis 3 : <[1024, 8, 512, 512], f32>
    %y = smelt.matmul %p, %q : <[1024, 8, 512, 512], f32>, <[1024, 8, 512, 64], f32> -> <[1024, 8, 512, 64], f32>
    %r = smelt.attention %q, %q, %q {scale = SCALE : f32} : <[1024, 8, 512, 64], f32>, <[1024, 8, 512, 64], f32>, <[1024, 8, 512, 64], f32> -> <[1024, 8, 512, 64], f32>
    return %y, %r : !smelt.tensor<[1024, 8, 512, 64], f32>, !smelt.tensor<[1024, 8, 512, 64], f32>)";
  RaiseCheck right = checkFunction("%x: !smelt.tensor<[1024, 512, 512], f32>", "[1024, 8, 512, 64]",
                                   replaced(body, "SCALE", "1.0"));
  EXPECT_TRUE(right.agrees) << right.problem << right.error;
  RaiseCheck wrong = checkFunction("%x: !smelt.tensor<[1024, 512, 512], f32>", "[1024, 8, 512, 64]",
                                   replaced(body, "SCALE", "0.5"));
  EXPECT_FALSE(wrong.agrees);
}

// An offset between 5 queries and 517 keys is a number: their sizes stay, the other axes shrink.
TEST_F(RaiseCheckTest, KeepsSizesThatPositionsCount) {
  std::string body = R"(
    %q = smelt.slice %x starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>] steps [1, 1, 1, 1] : <[512, 64, 517, 64], f32> -> <[512, 64, 5, 64], f32>
    %k = smelt.transpose %x [0, 1, 3, 2] : <[512, 64, 517, 64], f32> -> <[512, 64, 64, 517], f32>
    %s = smelt.matmul %q, %k : <[512, 64, 5, 64], f32>, <[512, 64, 64, 517], f32> -> <[512, 64, 5, 517], f32>
    %i = smelt.iota : <[5], i64>
    %j = smelt.iota : <[517], i64>
    %offset = smelt.constant dense<OFFSET> : tensor<i64> : <[], i64>
    %last = smelt.add %i, %offset : <[5], i64>, <[], i64> -> <[5], i64>
    %column = smelt.reshape %last : <[5], i64> -> <[5, 1], i64>
    %visible = smelt.less_equal %j, %column : <[517], i64>, <[5, 1], i64> -> <[5, 517], i1>
    %minus = smelt.constant dense<0xFF800000> : tensor<f32> : <[], f32>
    %m = smelt.select %visible, %s, %minus : <[5, 517], i1>, <[512, 64, 5, 517], f32>, <[], f32> -> <[512, 64, 5, 517], f32>
    %p = smelt.softmax %m axis 3 : <[512, 64, 5, 517], f32>
    %y = smelt.matmul %p, %x : <[512, 64, 5, 517], f32>, <[512, 64, 517, 64], f32> -> <[512, 64, 5, 64], f32>
    %r = smelt.attention %q, %x, %x {scale = 1.0 : f32, causal} : <[512, 64, 5, 64], f32>, <[512, 64, 517, 64], f32>, <[512, 64, 517, 64], f32> -> <[512, 64, 5, 64], f32>
    return %y, %r : !smelt.tensor<[512, 64, 5, 64], f32>, !smelt.tensor<[512, 64, 5, 64], f32>)";
  RaiseCheck right = checkFunction("%x: !smelt.tensor<[512, 64, 517, 64], f32>", "[512, 64, 5, 64]",
                                   replaced(body, "OFFSET", "512"));
  EXPECT_TRUE(right.agrees) << right.problem << right.error;
  RaiseCheck wrong = checkFunction("%x: !smelt.tensor<[512, 64, 517, 64], f32>", "[512, 64, 5, 64]",
                                   replaced(body, "OFFSET", "511"));
  EXPECT_FALSE(wrong.agrees);
}

// Sizes are drawn as the module's guards allow: with more rows than the table has, no row could be
// cut off it.
TEST_F(RaiseCheckTest, DrawsSizesThatGuardsAllow) {
  std::string slice = R"(
    %a = smelt.slice %x starts [#smelt.dim<0>] steps [1] : <[n], f32> -> <[4*m+k], f32>
    %r = smelt.slice %x starts [#smelt.dim<0>] steps [1] : <[n], f32> -> <[4*m+k], f32>
    return %a, %r : !smelt.tensor<[4*m+k], f32>, !smelt.tensor<[4*m+k], f32>)";
  std::string arguments = "%x: !smelt.tensor<[n], f32>, %y: !smelt.tensor<[m, k], f32>";
  EXPECT_FALSE(checkFunction(arguments, "[4*m+k]", slice).agrees) << "sizes that do not fit";
  std::string guards =
      "module attributes {smelt.guards = [#smelt.guard<<4*m+k> less_equal <n>, \"\">]} {";
  RaiseCheck guarded = checkFunction(arguments, "[4*m+k]", slice, guards);
  EXPECT_TRUE(guarded.agrees) << guarded.problem;
}

// Petabytes: refused before anything is allocated. What differs at small sizes proves nothing, and
// at its own it cannot be evaluated.
TEST_F(RaiseCheckTest, RefusesWhatIsTooLarge) {
  RaiseCheck result = check(std::string(R"(
    %l = smelt.expand %x : <[b, s, 8], f32> -> <[4294967296, b, s, 8], f32>
    %t = smelt.reshape %l : <[4294967296, b, s, 8], f32> -> <[65536, 65536, b, s, 8], f32>
    %max = smelt.reduce max %t axes [0, 1] : <[65536, 65536, b, s, 8], f32> -> <[1, 1, b, s, 8], f32>
    %a = smelt.reshape %max : <[1, 1, b, s, 8], f32> -> <[b, s, 8], f32>
    %sum = smelt.reduce sum %t axes [0, 1] : <[65536, 65536, b, s, 8], f32> -> <[1, 1, b, s, 8], f32>
    %r = smelt.reshape %sum : <[1, 1, b, s, 8], f32> -> <[b, s, 8], f32>
    )") + kReturn);
  EXPECT_FALSE(result.agrees);
  EXPECT_EQ(result.problem, "its constant sizes are too large for the check");
}

} // namespace
} // namespace smelt::passes
