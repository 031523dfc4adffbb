#include "ir/decisions.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace smelt {

namespace {

ArrayRef<Attribute> listOf(ModuleOp module, StringRef name) {
  auto list = module->getAttrOfType<ArrayAttr>(name);
  return list ? list.getValue() : ArrayRef<Attribute>();
}

} // namespace

SmallVector<GuardAttr> getGuards(ModuleOp module) {
  return llvm::map_to_vector(listOf(module, kGuards),
                             [](Attribute guard) { return cast<GuardAttr>(guard); });
}

void addGuards(ModuleOp module, ArrayRef<GuardAttr> guards) {
  llvm::SetVector<Attribute> all;
  all.insert_range(listOf(module, kGuards));
  all.insert(guards.begin(), guards.end());
  module->setAttr(kGuards, ArrayAttr::get(module.getContext(), all.getArrayRef()));
}

SmallVector<RemarkAttr> getRemarks(ModuleOp module) {
  return llvm::map_to_vector(listOf(module, kRemarks),
                             [](Attribute remark) { return cast<RemarkAttr>(remark); });
}

void addRemarks(ModuleOp module, ArrayRef<RemarkAttr> remarks) {
  SmallVector<Attribute> all(listOf(module, kRemarks));
  all.append(remarks.begin(), remarks.end());
  module->setAttr(kRemarks, ArrayAttr::get(module.getContext(), all));
}

} // namespace smelt
