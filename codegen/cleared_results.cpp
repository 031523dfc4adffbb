#include "codegen/cleared_results.h"

#include "codegen/fusion_numbers.h"

using namespace mlir;

namespace smelt::codegen {

ClearedResults::ClearedResults(func::FuncOp function) {
  for (Value value : function.getBody().front().getTerminator()->getOperands())
    modelOutputs.insert(storageOf(value));
}

void ClearedResults::add(FusionOp fusion, ArrayRef<KernelVariant> variants, bool runsOnce) {
  for (unsigned index : variants.front().clearedResults) {
    Value result = fusion.getOutputs()[index];
    if (runsOnce)
      once.push_back(result);
    else if (modelOutputs.contains(result))
      outputs.push_back(result);
    else
      shared.insert({result, bytes()});
  }
}

std::optional<int64_t> ClearedResults::offsetOf(Value result) const {
  auto found = shared.find(result);
  return found == shared.end() ? std::nullopt : std::optional(found->second);
}

} // namespace smelt::codegen
