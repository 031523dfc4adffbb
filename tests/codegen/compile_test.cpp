// The text of a fused module's kernels.
#include "codegen/compile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

namespace smelt::codegen {
namespace {

constexpr char kTwoLayers[] = R"(
func.func @main(%x: !smelt.tensor<[n, 64], f16>) -> !smelt.tensor<[n, 64], f16> {
  %0 = smelt.fusion pointwise(%x) : (!smelt.tensor<[n, 64], f16>) -> !smelt.tensor<[n, 64], f16> {
  ^bb0(%a: !smelt.tensor<[n, 64], f16>):
    %1 = smelt.gelu %a : <[n, 64], f16> loc("/first/Gelu")
    smelt.yield %1 : !smelt.tensor<[n, 64], f16>
  }
  %2 = smelt.fusion pointwise(%0) : (!smelt.tensor<[n, 64], f16>) -> !smelt.tensor<[n, 64], f16> {
  ^bb0(%a: !smelt.tensor<[n, 64], f16>):
    %3 = smelt.gelu %a : <[n, 64], f16> loc("/second/Gelu")
    smelt.yield %3 : !smelt.tensor<[n, 64], f16>
  }
  return %2 : !smelt.tensor<[n, 64], f16>
})";

TEST(GenerateKernels, GivesAKernelOnceWhateverItsComments) {
  mlir::MLIRContext context;
  context.loadDialect<SmeltDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(kTwoLayers, &context);
  ASSERT_TRUE(module);
  Result<std::vector<ListedKernel>> kernels = generateKernels(*module, "sm_90a", {});
  ASSERT_TRUE(kernels.isOk()) << kernels.status().message();
  ASSERT_EQ(kernels->size(), 1u);
  EXPECT_EQ(kernels->front().numbers, (std::vector<std::string>{"0", "1"}));
  EXPECT_NE(kernels->front().kernel.text.text.find("/first/Gelu"), std::string::npos);
}

} // namespace
} // namespace smelt::codegen
