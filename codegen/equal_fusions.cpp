#include "codegen/equal_fusions.h"

#include "ir/capabilities.h"

#include "mlir/IR/OperationSupport.h"

using namespace mlir;

namespace smelt::codegen {

namespace {

size_t hashOf(FusionOp fusion) {
  llvm::hash_code hash = llvm::hash_combine(fusion->getAttrDictionary().getAsOpaquePointer(),
                                            fusion->getNumOperands());
  for (Operation &op : fusion.getBlock())
    hash = llvm::hash_combine(
        hash, OperationEquivalence::computeHash(&op, OperationEquivalence::ignoreHashValue,
                                                OperationEquivalence::ignoreHashValue,
                                                OperationEquivalence::IgnoreLocations));
  return hash;
}

bool areEqual(FusionOp a, FusionOp b) {
  bool haveEqualInputs =
      a.getInputs().getTypes() == b.getInputs().getTypes() &&
      llvm::all_of(llvm::zip(a.getInputs(), b.getInputs()), [](auto pair) {
        return isWeightExpression(std::get<0>(pair)) == isWeightExpression(std::get<1>(pair));
      });
  return haveEqualInputs && a->getAttrDictionary() == b->getAttrDictionary() &&
         a->getResultTypes() == b->getResultTypes() &&
         OperationEquivalence::isRegionEquivalentTo(&a.getBody(), &b.getBody(),
                                                    OperationEquivalence::IgnoreLocations);
}

} // namespace

std::optional<size_t> EqualFusions::find(FusionOp fusion) const {
  auto found = entries.find(hashOf(fusion));
  if (found == entries.end())
    return std::nullopt;
  const Entry *equal = llvm::find_if(
      found->second, [&](const Entry &entry) { return areEqual(entry.fusion, fusion); });
  return equal == found->second.end() ? std::nullopt : std::optional(equal->index);
}

void EqualFusions::add(FusionOp fusion, size_t index) {
  entries[hashOf(fusion)].push_back({fusion, index});
}

} // namespace smelt::codegen
