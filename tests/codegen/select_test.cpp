// Kernels of fused modules through NVRTC, for families of which a few texts say little: they
// compile and keep their values in registers.
#include "codegen/kernel.h"
#include "codegen/nvrtc.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringSet.h"
#include <gtest/gtest.h>

namespace smelt::codegen {
namespace {

struct SelectTest : testing::Test {
  std::unique_ptr<Nvrtc> nvrtc;
  mlir::MLIRContext context;

  void SetUp() override {
    auto opened = Nvrtc::open("");
    if (!opened)
      GTEST_SKIP() << "no NVRTC here: " << llvm::toString(opened.takeError());
    nvrtc = std::move(*opened);
    context.loadDialect<SmeltDialect, mlir::func::FuncDialect>();
  }

  /// Expects that every kernel of the module compiles without spills.
  void expectCompiles(const std::string &text, llvm::StringRef architecture) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    llvm::StringSet<> seen;
    module->walk([&](FusionOp fusion) {
      auto kernels = selectKernels(fusion, *Target::named(architecture), /*tf32=*/false);
      ASSERT_TRUE(succeeded(kernels)) << text;
      for (const GeneratedKernel &kernel : *kernels)
        if (seen.insert(kernel.text.text).second)
          expectCompiles(kernel, architecture);
    });
  }

  void expectCompiles(const GeneratedKernel &kernel, llvm::StringRef architecture) {
    auto compiled = nvrtc->compile(kernel.text, architecture);
    ASSERT_TRUE(static_cast<bool>(compiled)) << llvm::toString(compiled.takeError());
    EXPECT_EQ(compiled->spillBytes, 0) << kernel.name << " " << architecture.str() << "\n"
                                       << kernel.text.text;
  }
};

/// `text` with every "$" as `element` and every "&" as `number`.
std::string filled(std::string text, const std::string &element, int64_t number = 0) {
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == '$' || text[i] == '&')
      text.replace(i, 1, text[i] == '$' ? element : std::to_string(number));
  return text;
}

// Rows of one warp, and of several.
TEST_F(SelectTest, ReducesRowsOfEveryType) {
  for (const char *element : {"i1", "i8", "ui8", "i16", "ui16", "i32", "ui32", "i64", "ui64", "f16",
                              "bf16", "f32", "f64"})
    for (int64_t columns : {37, 2053}) {
      SCOPED_TRACE(element);
      expectCompiles(filled(R"(
func.func @f(%x: !smelt.tensor<[n, &], $>) -> (!smelt.tensor<[n, 1], $>, !smelt.tensor<[n, 1], $>) {
  %0:2 = smelt.fusion rowwise(%x) : (!smelt.tensor<[n, &], $>) -> (!smelt.tensor<[n, 1], $>, !smelt.tensor<[n, 1], $>) {
  ^bb0(%a: !smelt.tensor<[n, &], $>):
    %1 = smelt.reduce max %a axes [1] : <[n, &], $> -> <[n, 1], $>
    %2 = smelt.reduce min %a axes [1] : <[n, &], $> -> <[n, 1], $>
    smelt.yield %1, %2 : !smelt.tensor<[n, 1], $>, !smelt.tensor<[n, 1], $>
  }
  return %0#0, %0#1 : !smelt.tensor<[n, 1], $>, !smelt.tensor<[n, 1], $>
})",
                            element, columns),
                     "sm_80");
    }
}

} // namespace
} // namespace smelt::codegen
