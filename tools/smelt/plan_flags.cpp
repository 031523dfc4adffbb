#include "tools/smelt/plan_flags.h"

#include "compiler/fused_ir.h"
#include "ir/dialect.h"
#include "ir/parse_text.h"
#include "runtime/text.h"
#include "tools/smelt/report.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace smelt::tools {

/// What the plan's fused IR says; nothing where there is none, or none that this Smelt reads.
static compiler::FusedWith readFusedWith(const runtime::Plan &plan) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<SmeltDialect, func::FuncDialect>();
  ScopedDiagnosticHandler silent(&context, [](Diagnostic &) { return success(); });
  llvm::StringRef ir(plan.ir().data(), plan.ir().size());
  OwningOpRef<ModuleOp> fused = parseText(ir, &context);
  return fused ? compiler::fusedWith(*fused) : compiler::FusedWith();
}

std::string planFlags(const runtime::Plan &plan) {
  compiler::FusedWith with = readFusedWith(plan);
  std::vector<std::string> flags;
  if (narrows(with.precision))
    flags.push_back(nameOf(with.precision));
  else if (const std::string &options = plan.metadata().compile_options; !options.empty())
    flags.push_back(options);
  if (with.within)
    flags.push_back("--within " + shortText(*with.within));
  if (with.refit)
    flags.push_back("--refit");
  return flags.empty() ? "none" : llvm::join(flags, ", ");
}

} // namespace smelt::tools
