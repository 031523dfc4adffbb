// Prints the CUDA text that the code generator makes of a module in fused form, for FileCheck.
//
// usage: emit-cuda FILE.mlir [ARCH] [--tf32] [--compile]
//
// Each kernel is preceded by its name, grid and block. With --compile each is compiled by NVRTC,
// and "compiled" or the compiler's log is printed behind its text.
#include "codegen/kernel.h"
#include "codegen/nvrtc.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace smelt;
using namespace smelt::codegen;

namespace {

struct Arguments {
  std::string file;
  std::string architecture = "sm_90a";
  bool tf32 = false;
  bool compile = false;
};

Arguments parse(int count, char **values) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    llvm::StringRef value = values[i];
    if (value == "--tf32")
      arguments.tf32 = true;
    else if (value == "--compile")
      arguments.compile = true;
    else if (value.starts_with("sm_"))
      arguments.architecture = value.str();
    else
      arguments.file = value.str();
  }
  return arguments;
}

void print(const GeneratedKernel &kernel) {
  llvm::outs() << "// " << kernel.name << "\n// grid [" << kernel.grid[0] << ", " << kernel.grid[1]
               << ", " << kernel.grid[2] << "], block [" << kernel.block[0] << "], cluster ["
               << kernel.cluster[0] << ", " << kernel.cluster[1] << "], shared "
               << kernel.sharedBytes << "\n// bytes " << kernel.bytes << ", flops " << kernel.flops
               << "\n"
               << kernel.text.text;
}

/// False where the kernel does not compile.
bool compile(const Nvrtc &nvrtc, const GeneratedKernel &kernel, const std::string &architecture) {
  auto compiled = nvrtc.compile(kernel.text, architecture);
  if (!compiled) {
    llvm::outs() << llvm::toString(compiled.takeError()) << "\n";
    return false;
  }
  llvm::outs() << "// compiled, " << compiled->spillBytes << " bytes of registers spilled\n";
  return true;
}

} // namespace

int main(int count, char **values) {
  Arguments arguments = parse(count, values);
  mlir::MLIRContext context;
  context.loadDialect<SmeltDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(arguments.file, &context);
  mlir::FailureOr<Target> target = Target::named(arguments.architecture);
  if (!module || failed(target))
    return 1;
  std::unique_ptr<Nvrtc> nvrtc;
  if (arguments.compile) {
    auto opened = Nvrtc::open("");
    if (!opened) {
      llvm::errs() << llvm::toString(opened.takeError()) << "\n";
      return 6;
    }
    nvrtc = std::move(*opened);
  }
  bool good = true;
  llvm::StringSet<> seen;
  module->walk([&](FusionOp fusion) {
    mlir::FailureOr<std::vector<KernelVariant>> variants =
        selectKernels(fusion, *target, {.tf32 = arguments.tf32});
    if (failed(variants)) {
      good = false;
      return;
    }
    for (const KernelVariant &variant : *variants) {
      if (variant.rule.value)
        llvm::outs() << "// for " << variant.rule.describe() << "\n";
      for (const GeneratedKernel *kernel : kernelsOf(variant)) {
        print(*kernel);
        if (nvrtc && seen.insert(kernel->text.entry).second)
          good &= compile(*nvrtc, *kernel, target->arch);
      }
    }
  });
  return good ? 0 : 1;
}
