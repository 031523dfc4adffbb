// Fuzzing from bytes: whatever a file holds, importing and simplifying it ends with a report or a
// verified module, in bounded time and memory.
#include "frontend/import.h"
#include "passes/pipeline.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace smelt;

static void simplify(ImportedModel &model) {
  PassManager manager(model.module->getContext());
  manager.enableVerifier(true);
  PipelineOptions options;
  options.weights = model.weights.get();
  buildPipeline(manager, options);
  (void)manager.run(*model.module);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
  ArrayRef<char> bytes(reinterpret_cast<const char *>(data), size);
  FailureOr<ImportedModel> model = importModel(context, bytes, "no such folder", {});
  if (succeeded(model))
    simplify(*model);
  return 0;
}
