// A fixture for families of kernels: those of a fused module compile and keep their values in registers.
#pragma once

#include "codegen/kernel.h"
#include "codegen/nvrtc.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringSet.h"
#include <gtest/gtest.h>

namespace smelt::codegen {

struct KernelCompilesTest : testing::Test {
  /// Null under sanitizers, which do not watch NVRTC: the texts are made, and that is all.
  std::unique_ptr<Nvrtc> nvrtc;
  mlir::MLIRContext context;

  void SetUp() override {
    context.loadDialect<SmeltDialect, mlir::func::FuncDialect>();
#ifndef SMELT_SANITIZED
    auto opened = Nvrtc::open("");
    if (!opened)
      GTEST_SKIP() << "no NVRTC here: " << llvm::toString(opened.takeError());
    nvrtc = std::move(*opened);
#endif
  }

  /// Every kernel of the module, each text once.
  void expectCompiles(const std::string &text, llvm::StringRef architecture) {
    SCOPED_TRACE(text);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    llvm::StringSet<> seen;
    module->walk([&](FusionOp fusion) {
      auto variants = selectKernels(fusion, *Target::named(architecture), {});
      ASSERT_TRUE(succeeded(variants));
      for (const GeneratedKernel *kernel : kernelsOf(*variants))
        if (seen.insert(kernel->text.text).second)
          expectCompiles(*kernel, architecture);
    });
  }

  void expectCompiles(const GeneratedKernel &kernel, llvm::StringRef architecture) {
    if (!nvrtc)
      return;
    auto compiled = nvrtc->compile(kernel.text, architecture);
    ASSERT_TRUE(static_cast<bool>(compiled)) << llvm::toString(compiled.takeError());
    EXPECT_EQ(compiled->spillBytes, 0) << kernel.name << " " << architecture.str() << "\n"
                                       << kernel.text.text;
  }
};

} // namespace smelt::codegen
