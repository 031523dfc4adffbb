// Whole programs: symbols and guards, lifetimes and sharing, errors, evaluation of slices and
// blocks.
#include "tests/ir/interpret/interpret_test.h"

namespace smelt::test {
namespace {

class RunTest : public InterpretTest {
protected:
  std::string x = "!smelt.tensor<[n, m], f32>";

  bool reports(const std::string &message) {
    bool found = errors.find(message) != std::string::npos;
    EXPECT_TRUE(found) << errors << "lacks: " << message;
    errors.clear();
    return found;
  }
};

TEST_F(RunTest, SymbolsAreSolvedFromTheShapes) {
  auto module = parse("(%a: " + x +
                          " {smelt.name = \"a\"}, %b: !smelt.tensor<[m, n*2], f32> {smelt.name = "
                          "\"b\"}) -> !smelt.tensor<[n, n*2], f32>",
                      "%y = smelt.matmul %a, %b : " + x +
                          ", !smelt.tensor<[m, n*2], f32> -> !smelt.tensor<[n, n*2], f32>\n"
                          "return %y : !smelt.tensor<[n, n*2], f32>");
  EXPECT_EQ(run(*module, {random({3, 5}, "f32", 1), random({5, 6}, "f32", 2)}).size(), 1u)
      << errors;
  EXPECT_TRUE(run(*module, {random({3, 5}, "f32", 1), random({4, 6}, "f32", 2)}).empty());
  reports("input 'b' of type '!smelt.tensor<[m, 2*n], f32>' cannot have shape [4, 6]: axis 0 is "
          "'m', which another axis fixes as 5");
  EXPECT_TRUE(run(*module, {random({3, 5}, "f32", 1), random({5, 7}, "f32", 2)}).empty());
  reports("axis 1 must be 6 = 2*n");
  EXPECT_TRUE(run(*module, {random({3, 5}, "f32", 1), random({5, 6, 1}, "f32", 2)}).empty());
  reports("the ranks differ");
  EXPECT_EQ(run(*module, {random({0, 5}, "f32", 1), random({5, 0}, "f32", 2)}).size(), 1u)
      << errors;
  EXPECT_TRUE(run(*module, {random({3, 5}, "f32", 1)}).empty());
  reports("needs 2 inputs, got 1");
  EXPECT_TRUE(run(*module, {random({3, 5}, "f32", 1), random({5, 6}, "f16", 2)}).empty());
  reports("input 'b' must have element type 'f32', got 'f16'");
}

TEST_F(RunTest, ASymbolThatNoInputDeterminesIsAnError) {
  auto module = parse("(%a: !smelt.tensor<[n + k], f32>) -> !smelt.tensor<[n + k], f32>",
                      "return %a : !smelt.tensor<[n + k], f32>");
  EXPECT_TRUE(run(*module, {random({3}, "f32", 1)}).empty());
  reports("axis 0 is k + n, which no input's shape determines");
}

TEST_F(RunTest, GuardsAreChecked) {
  auto module = parse("(%a: " + x + ") -> " + x, "return %a : " + x,
                      "smelt.guards = [#smelt.guard<<n> less_equal <4>, "
                      "\"the position table has 4 rows\">, "
                      "#smelt.guard<<m> equal <n*2>, \"Add_3\">]");
  EXPECT_EQ(run(*module, {random({4, 8}, "f32", 1)}).size(), 1u) << errors;
  EXPECT_TRUE(run(*module, {random({5, 10}, "f32", 1)}).empty());
  reports("this model cannot run with m = 10, n = 5: n = 5 must be at most 4 (the position "
          "table has 4 rows)");
  EXPECT_TRUE(run(*module, {random({3, 7}, "f32", 1)}).empty());
  reports("m = 7 must equal 2*n = 6 (Add_3)");
}

TEST_F(RunTest, AGuardThatCannotBeDecidedIsAnError) {
  auto module = parse("(%a: " + x + ") -> " + x, "return %a : " + x,
                      "smelt.guards = [#smelt.guard<<q> equal <1>, \"\">]");
  EXPECT_TRUE(run(*module, {random({4, 8}, "f32", 1)}).empty());
  reports("cannot decide the guard");
}

TEST_F(RunTest, ValuesThatAreReusedInPlaceStayWhatTheyAre) {
  // %s is read twice after ops that could overwrite it; the input must survive the run.
  auto module = parse("(%a: " + x + ") -> (" + x + ", " + x + ", " + x + ")",
                      "%s = smelt.add %a, %a : " + x + ", " + x + " -> " + x +
                          "\n"
                          "%n = smelt.neg %s : " +
                          x +
                          "\n"
                          "%q = smelt.mul %s, %s : " +
                          x + ", " + x + " -> " + x +
                          "\n"
                          "%r = smelt.reshape %n : " +
                          x +
                          " -> !smelt.tensor<[n*m], f32>\n"
                          "%e = smelt.abs %r : !smelt.tensor<[n*m], f32>\n"
                          "%f = smelt.reshape %e : !smelt.tensor<[n*m], f32> -> " +
                          x +
                          "\n"
                          "return %n, %q, %f : " +
                          x + ", " + x + ", " + x);
  HostTensor a = floats({1, 3}, {1, -2, 3});
  std::vector<HostTensor> results = run(*module, {a});
  ASSERT_EQ(results.size(), 3u) << errors;
  expectNear(results[0], {-2, 4, -6}, 0);
  expectNear(results[1], {4, 16, 36}, 0);
  expectNear(results[2], {2, 4, 6}, 0);
  expectNear(a, {1, -2, 3}, 0);
}

TEST_F(RunTest, ConstantExpressionsSurviveManyRunsAndShapes) {
  std::string row = "!smelt.tensor<[3], f32>", in = "!smelt.tensor<[n, 3], f32>";
  auto module = parse("(%a: " + in + ") -> " + in,
                      "%c = smelt.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32> : " + row +
                          "\n"
                          "%d = smelt.neg %c : " +
                          row +
                          "\n"
                          "%e = smelt.mul %d, %d : " +
                          row + ", " + row + " -> " + row +
                          "\n"
                          "%y = smelt.add %a, %e : " +
                          in + ", " + row + " -> " + in +
                          "\n"
                          "%z = smelt.sub %y, %d : " +
                          in + ", " + row + " -> " + in +
                          "\n"
                          "return %z : " +
                          in);
  WeightStore weights;
  Interpreter interpreter(*module, weights, {Precision::f32, 2});
  for (int64_t n : {1, 3, 1}) {
    HostTensor input = floats({n, 3}, Floats(3 * n, 10.0f));
    for (int repeat = 0; repeat < 2; ++repeat) {
      auto results = interpreter.run({input});
      ASSERT_TRUE(mlir::succeeded(results)) << errors;
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < 3; ++j)
          EXPECT_EQ((*results)[0].getDouble(i * 3 + j), 10 + (j + 1) * (j + 1) + (j + 1));
    }
  }
}

TEST_F(RunTest, AFailedRunLeavesTheInterpreterUsable) {
  auto module =
      parse("(%i: !smelt.tensor<[n], i64>) -> !smelt.tensor<[n], f32>",
            "%c = smelt.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32> : !smelt.tensor<[3], f32>\n"
            "%y = smelt.gather %c, %i axis 0 : !smelt.tensor<[3], f32>, !smelt.tensor<[n], i64> -> "
            "!smelt.tensor<[n], f32>\n"
            "return %y : !smelt.tensor<[n], f32>");
  WeightStore weights;
  Interpreter interpreter(*module, weights);
  EXPECT_TRUE(mlir::failed(interpreter.run({integers({1}, {9})})));
  auto results = interpreter.run({integers({2}, {2, 0})});
  ASSERT_TRUE(mlir::succeeded(results)) << errors;
  expectNear((*results)[0], {3, 1}, 0);
}

TEST_F(RunTest, AnArgumentOrConstantMayBeAResult) {
  auto module =
      parse("(%a: " + x + ") -> (" + x + ", !smelt.tensor<[2], i64>, " + x + ")",
            "%c = smelt.constant dense<[4, 5]> : tensor<2xi64> : !smelt.tensor<[2], i64>\n"
            "return %a, %c, %a : " +
                x + ", !smelt.tensor<[2], i64>, " + x);
  HostTensor a = random({2, 2}, "f32", 1);
  for (int repeat = 0; repeat < 2; ++repeat) {
    std::vector<HostTensor> results = run(*module, {a});
    ASSERT_EQ(results.size(), 3u) << errors;
    EXPECT_EQ(valuesOf(results[0]), valuesOf(a));
    expectNear(results[1], {4, 5}, 0);
  }
}

TEST_F(RunTest, AShapeThatContradictsTheTypeIsReported) {
  // Taken to broadcast by the type; the shapes say otherwise.
  auto module =
      parse("(%a: !smelt.tensor<[n], f32>, %b: !smelt.tensor<[m], f32>) -> !smelt.tensor<[n], f32>",
            "%y = smelt.add %a, %b : !smelt.tensor<[n], f32>, !smelt.tensor<[m], f32> -> "
            "!smelt.tensor<[n], f32>\nreturn %y : !smelt.tensor<[n], f32>");
  EXPECT_TRUE(run(*module, {random({2}, "f32", 1), random({3}, "f32", 2)}).empty());
  reports("shapes do not broadcast: [2], [3]");
  EXPECT_TRUE(run(*module, {random({1}, "f32", 1), random({3}, "f32", 2)}).empty());
  reports("computes shape [3] where its type '!smelt.tensor<[n], f32>' says [1]");
}

TEST_F(RunTest, ATensorTooLargeForAnyMachineIsReported) {
  auto module = parse("(%a: !smelt.tensor<[n], f32>) -> !smelt.tensor<[n], f32>",
                      "%i = smelt.iota : !smelt.tensor<[n*4611686018427387904], i64>\nreturn %a : "
                      "!smelt.tensor<[n], f32>");
  EXPECT_TRUE(run(*module, {random({1}, "f32", 1)}).empty());
  reports("there is no memory for a tensor of shape [4611686018427387904]");
  EXPECT_TRUE(run(*module, {random({4}, "f32", 1)}).empty());
  reports("has no value for n = 4");
}

TEST_F(RunTest, EvaluateFoldsAValueWithoutInputs) {
  auto module =
      parse("(%a: " + x + ") -> !smelt.tensor<[2], f32>",
            "%c = smelt.constant dense<[1.0, 4.0]> : tensor<2xf32> : !smelt.tensor<[2], f32>\n"
            "%s = smelt.sqrt %c : !smelt.tensor<[2], f32>\n"
            "%u = smelt.neg %a : " +
                x +
                "\n"
                "return %s : !smelt.tensor<[2], f32>");
  mlir::Block &body = module->lookupSymbol<mlir::func::FuncOp>("main").getBody().front();
  mlir::FailureOr<HostTensor> folded = evaluate(body.getTerminator()->getOperand(0));
  ASSERT_TRUE(mlir::succeeded(folded)) << errors;
  EXPECT_EQ(folded->toAttribute(),
            mlir::DenseElementsAttr::get(mlir::RankedTensorType::get({2}, type("f32")),
                                         llvm::ArrayRef<float>{1, 2}));
  // What depends on an argument cannot be folded.
  EXPECT_TRUE(mlir::failed(evaluate(body.getTerminator()->getPrevNode()->getResult(0))));
  reports("depends on an argument of unknown value");
}

TEST_F(RunTest, EvaluateStopsAtKnownValues) {
  auto module =
      parse("(%a: " + x + ") -> " + x, "%n = smelt.neg %a : " + x + "\n%e = smelt.exp %n : " + x +
                                           "\n%y = smelt.add %e, %n : " + x + ", " + x + " -> " +
                                           x + "\nreturn %y : " + x);
  mlir::Block &body = module->lookupSymbol<mlir::func::FuncOp>("main").getBody().front();
  Symbols symbols;
  symbols["n"] = 1;
  symbols["m"] = 2;
  KnownValues known;
  known[body.front().getResult(0)] = floats({1, 2}, {0, 1});
  mlir::FailureOr<HostTensor> value = evaluate(body.getTerminator()->getOperand(0), known, symbols);
  ASSERT_TRUE(mlir::succeeded(value)) << errors;
  expectNear(*value, {1, std::exp(1.0) + 1}, 3e-7);
}

TEST_F(RunTest, EvaluateABlockInDouble) {
  auto module = parse("(%a: " + x + ") -> " + x, "%y = smelt.exp %a : " + x + "\nreturn %y : " + x);
  mlir::Block &body = module->lookupSymbol<mlir::func::FuncOp>("main").getBody().front();
  Symbols symbols;
  symbols["n"] = symbols["m"] = 1;
  EvaluateOptions options;
  options.precision = Precision::f64;
  auto results = evaluate(body, {floats({1, 1}, {0.3f})}, symbols, options);
  ASSERT_TRUE(mlir::succeeded(results)) << errors;
  EXPECT_EQ((*results)[0].getStorage(), Storage::f64);
  EXPECT_NEAR((*results)[0].getDouble(0), std::exp(static_cast<double>(0.3f)), 1e-15);
  EXPECT_TRUE(mlir::failed(evaluate(body, {}, symbols)));
  reports("needs 1 arguments, got 0");
}

TEST_F(RunTest, AModuleWithoutMainIsAnError) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>("module {}", &context);
  EXPECT_TRUE(run(*module, {}).empty());
  reports("has no function @main");
}

} // namespace
} // namespace smelt::test
