#include "codegen/fusion_numbers.h"

#include "ir/alias.h"
#include "ir/capabilities.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace smelt::codegen {

Value storageOf(Value value) {
  while (isa_and_nonnull<BufferOp, ContentsOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  // A reshape of a constant is a weight expression of its own.
  while (auto reshape = value.getDefiningOp<ReshapeOp>()) {
    Value input = reshape.getInput();
    while (auto inner = input.getDefiningOp<ReshapeOp>())
      input = inner.getInput();
    if (isWeightExpression(input))
      return value;
    value = input;
  }
  return value;
}

llvm::DenseSet<Operation *> fusionsThatRunOnce(func::FuncOp function) {
  llvm::DenseSet<Value> results, known;
  for (Value value : function.getBody().front().getTerminator()->getOperands())
    results.insert(storageOf(value));
  llvm::DenseSet<Operation *> once;
  for (auto fusion : function.getOps<FusionOp>()) {
    auto isKnown = [&](Value value) {
      return isWeightExpression(storageOf(value)) || known.contains(storageOf(value));
    };
    if (!llvm::all_of(fusion.getInputs(), isKnown) ||
        llvm::any_of(fusion.getOutputs(), [&](Value value) { return results.contains(value); }))
      continue;
    once.insert(fusion);
    known.insert(fusion.getOutputs().begin(), fusion.getOutputs().end());
  }
  return once;
}

SmallVector<FusionOp> numberedFusions(func::FuncOp function) {
  llvm::DenseSet<Operation *> once = fusionsThatRunOnce(function);
  SmallVector<FusionOp> fusions;
  for (bool runsOnce : {true, false})
    for (auto fusion : function.getOps<FusionOp>())
      if (once.contains(fusion) == runsOnce)
        fusions.push_back(fusion);
  return fusions;
}

} // namespace smelt::codegen
