// Every function of every .mlir file here computes after its passes what it computed before them.
#include "tests/passes/equivalence.h"

#include "passes/passes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <gtest/gtest.h>

#include <mutex>

namespace smelt {
namespace {

struct Case {
  std::string path;
};

void PrintTo(const Case &testCase, std::ostream *stream) { *stream << testCase.path; }

/// The files of simplify and raise, of the fuse and lower passes that rewrite arithmetic, and of the fuse
/// passes that join weights or trees, or draw in what others compute; the others only move ops into regions and have
/// tests of their own.
std::vector<Case> findCases() {
  constexpr llvm::StringLiteral kRewriting[] = {"fuse_columnwise.mlir", "fuse_dequantization.mlir",
                                                "fuse_gemm.mlir",       "fuse_horizontal.mlir",
                                                "fuse_norm.mlir",       "fuse_rowwise.mlir",
                                                "fuse_rotary.mlir",     "fuse_siblings.mlir",
                                                "lower_rounding.mlir",  "row_order.mlir"};
  std::vector<Case> cases;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator at(SMELT_PASS_TESTS, error), end; at != end && !error;
       at.increment(error)) {
    llvm::StringRef name = llvm::sys::path::filename(at->path());
    if (name.ends_with(".mlir") &&
        (name.starts_with("simplify_") || name.starts_with("raise_") ||
         name.starts_with("canonical_") || llvm::is_contained(kRewriting, name)))
      cases.push_back({at->path()});
  }
  std::sort(cases.begin(), cases.end(),
            [](const Case &a, const Case &b) { return a.path < b.path; });
  return cases;
}

/// The passes that the RUN line names, as a pipeline's text.
std::string pipelineOf(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> words;
  std::vector<std::string> passes;
  text.take_until([](char c) { return c == '\n'; }).split(words, ' ');
  for (llvm::StringRef word : words)
    if (word.consume_front("--smelt-")) {
      passes.push_back(
          (word.starts_with("lower") ? "func.func(smelt-" + word + ")" : "smelt-" + word).str());
    }
  return llvm::join(passes, ",");
}

/// simplify is exact; constants that it evaluates and those that raise recognises are rounded to
/// their types, and so are weights that fuse-norm scales and the values that it casts back to f16. What numbers of floats of
/// 8 bits were rounded to before a product falls away.
double toleranceOf(llvm::StringRef path) {
  llvm::StringRef name = llvm::sys::path::stem(path);
  if (name == "simplify_constants" || name == "fuse_norm")
    return 1e-3;
  bool dropsRoundings = name.starts_with("raise_") || name == "simplify_quantized_floats8";
  return dropsRoundings ? 4e-3 : 1e-10;
}

class Equivalence : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    static std::once_flag once;
    std::call_once(once, [] { registerSmeltPasses(); });
  }
};

TEST_P(Equivalence, Holds) {
  const std::string &path = GetParam().path;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<SmeltDialect, mlir::func::FuncDialect>();
  auto buffer = llvm::MemoryBuffer::getFile(path);
  ASSERT_TRUE(buffer);
  auto before = mlir::parseSourceString<mlir::ModuleOp>((*buffer)->getBuffer(), &context);
  ASSERT_TRUE(before);
  mlir::OwningOpRef<mlir::ModuleOp> after = before->clone();
  mlir::PassManager manager(&context);
  ASSERT_TRUE(
      mlir::succeeded(mlir::parsePassPipeline(pipelineOf((*buffer)->getBuffer()), manager)));
  ASSERT_GT(manager.size(), 0u);
  {
    // A warning says that rewrites undo each other.
    mlir::ScopedDiagnosticHandler listen(&context, [](mlir::Diagnostic &diagnostic) {
      ADD_FAILURE() << diagnostic.str();
      return mlir::success();
    });
    ASSERT_TRUE(mlir::succeeded(manager.run(*after)));
  }

  for (auto function : before->getOps<mlir::func::FuncOp>()) {
    SCOPED_TRACE(function.getName().str());
    auto changed = after->lookupSymbol<mlir::func::FuncOp>(function.getName());
    ASSERT_TRUE(changed);
    // Functions say why where their values cannot be compared.
    if (function->hasAttr("test.not_interpreted"))
      continue;
    WeightStore weights;
    weights.drawMissing(1);
    int runs = 0;
    // All symbols equal, and all different; where a slice or an index leaves its data, the sizes do
    // not count.
    for (SizeChoice sizes :
         {SizeChoice{3, 0}, SizeChoice{6, 0}, SizeChoice{2, 1}, SizeChoice{4, 2}}) {
      mlir::ScopedDiagnosticHandler silence(&context,
                                            [](mlir::Diagnostic &) { return mlir::success(); });
      Comparison comparison = compareFunctions(function, changed, weights, sizes, 7);
      runs += comparison.ran;
      EXPECT_LE(comparison.error, toleranceOf(path)) << comparison.problem;
      EXPECT_TRUE(comparison.error > 0 || comparison.problem.empty()) << comparison.problem;
    }
    EXPECT_GT(runs, 0) << "could not be interpreted at any choice of sizes";
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Equivalence, testing::ValuesIn(findCases()), [](const auto &info) {
  return llvm::sys::path::stem(info.param.path).str();
});

} // namespace
} // namespace smelt
