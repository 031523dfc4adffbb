// A layer with a cache computes in place, through every phase, what it computes by concatenation,
// from an empty cache on.
#include "passes/pipeline.h"
#include "tests/passes/equivalence.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

namespace smelt {
namespace {

/// Attention over a cache whose keys also leave as they came: of two heads, eight wide.
constexpr char kLayer[] = R"(
func.func @main(
    %q: !smelt.tensor<[b, 2, seq, 8], f32> {smelt.name = "q"},
    %k: !smelt.tensor<[b, 2, seq, 8], f32> {smelt.name = "k"},
    %v: !smelt.tensor<[b, 2, seq, 8], f32> {smelt.name = "v"},
    %pk: !smelt.tensor<[b, 2, past, 8], f32> {smelt.name = "past.k"},
    %pv: !smelt.tensor<[b, 2, past, 8], f32> {smelt.name = "past.v"})
    -> (!smelt.tensor<[b, 2, seq, 8], f32> {smelt.name = "y"},
        !smelt.tensor<[b, 2, past + seq, 8], f32> {smelt.name = "present.k"},
        !smelt.tensor<[b, 2, past + seq, 8], f32> {smelt.name = "present.v"},
        !smelt.tensor<[b, 2, past, 8], f32> {smelt.name = "old"}) {
  %two = smelt.constant dense<2.0> : tensor<f32> : !smelt.tensor<[], f32>
  %new = smelt.mul %k, %two : !smelt.tensor<[b, 2, seq, 8], f32>, !smelt.tensor<[], f32> -> !smelt.tensor<[b, 2, seq, 8], f32>
  %keys = smelt.concat %pk, %new axis 2 : !smelt.tensor<[b, 2, past, 8], f32>, !smelt.tensor<[b, 2, seq, 8], f32> -> !smelt.tensor<[b, 2, past + seq, 8], f32>
  %values = smelt.concat %pv, %v axis 2 : !smelt.tensor<[b, 2, past, 8], f32>, !smelt.tensor<[b, 2, seq, 8], f32> -> !smelt.tensor<[b, 2, past + seq, 8], f32>
  %y = smelt.attention %q, %keys, %values {scale = 0.5 : f32, causal} : !smelt.tensor<[b, 2, seq, 8], f32>, !smelt.tensor<[b, 2, past + seq, 8], f32>, !smelt.tensor<[b, 2, past + seq, 8], f32> -> !smelt.tensor<[b, 2, seq, 8], f32>
  %old = smelt.neg %pk : !smelt.tensor<[b, 2, past, 8], f32>
  return %y, %keys, %values, %old : !smelt.tensor<[b, 2, seq, 8], f32>, !smelt.tensor<[b, 2, past + seq, 8], f32>, !smelt.tensor<[b, 2, past + seq, 8], f32>, !smelt.tensor<[b, 2, past, 8], f32>
})";

class InPlaceTest : public testing::Test {
protected:
  InPlaceTest() {
    context.loadDialect<SmeltDialect, mlir::func::FuncDialect>();
    before = mlir::parseSourceString<mlir::ModuleOp>(kLayer, &context);
    after = before->clone();
  }

  mlir::LogicalResult fuse(std::vector<std::string> pairs) {
    PipelineOptions options;
    options.weights = &weights;
    options.inPlace = std::move(pairs);
    options.onInPlaceRefused = [&] { refused = true; };
    mlir::PassManager manager(&context);
    buildPipeline(manager, options);
    return manager.run(*after);
  }

  template <class Op> int count() {
    int number = 0;
    after->walk([&](Op) { ++number; });
    return number;
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  WeightStore weights;
  mlir::OwningOpRef<mlir::ModuleOp> before, after;
  bool refused = false;
};

TEST_F(InPlaceTest, ComputesWhatConcatenationComputes) {
  ASSERT_TRUE(mlir::succeeded(fuse({"past.*=present.*"})));
  EXPECT_EQ(count<AppendOp>(), 2);
  EXPECT_EQ(count<ConcatOp>(), 0);
  // q, attention with both slices in it, two appends and the old keys; no copy of a cache.
  EXPECT_EQ(count<FusionOp>(), 4);
  // Symbols in the order b, seq, past.
  for (SizeChoice sizes :
       {SizeChoice{1, 0}, SizeChoice{3, -1}, SizeChoice{2, -1}, SizeChoice{2, 3}}) {
    Comparison comparison =
        compareFunctions(*before->getOps<mlir::func::FuncOp>().begin(),
                         *after->getOps<mlir::func::FuncOp>().begin(), weights, sizes, 7);
    ASSERT_TRUE(comparison.ran);
    EXPECT_LE(comparison.error, 1e-7) << comparison.problem;
  }
}

TEST_F(InPlaceTest, RefusesWhatIsNoConcatenation) {
  std::string errors;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    errors += diagnostic.str();
    return mlir::success();
  });
  EXPECT_TRUE(mlir::failed(fuse({"past.k=y"})));
  EXPECT_TRUE(refused);
  EXPECT_NE(errors.find("output 'y' cannot take the place of input 'past.k'"), std::string::npos)
      << errors;
}

TEST_F(InPlaceTest, RefusesNamesThatDoNotExist) {
  std::string errors;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    errors += diagnostic.str();
    return mlir::success();
  });
  EXPECT_TRUE(mlir::failed(fuse({"nosuch.*=present.*"})));
  EXPECT_NE(errors.find("has no input 'nosuch.*'"), std::string::npos) << errors;
}

} // namespace
} // namespace smelt
