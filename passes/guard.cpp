#include "passes/guard.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace smelt::passes {

void requireLessEqual(ModuleOp module, Dim left, Dim right, const Twine &message) {
  if (left.isKnownLessEqual(right))
    return;
  constexpr StringRef kAttribute = "smelt.guards", kRelation = "less_equal";
  SmallVector<Attribute> guards;
  if (auto existing = module->getAttrOfType<ArrayAttr>(kAttribute))
    guards.append(existing.begin(), existing.end());
  for (Attribute guard : guards) {
    auto entry = dyn_cast<DictionaryAttr>(guard);
    if (entry && entry.get("left") == left.getAttribute() &&
        entry.get("right") == right.getAttribute() &&
        entry.get("relation") == StringAttr::get(module.getContext(), kRelation))
      return;
  }
  Builder builder(module.getContext());
  guards.push_back(
      builder.getDictionaryAttr({builder.getNamedAttr("left", left.getAttribute()),
                                 builder.getNamedAttr("relation", builder.getStringAttr(kRelation)),
                                 builder.getNamedAttr("right", right.getAttribute()),
                                 builder.getNamedAttr("message", builder.getStringAttr(message))}));
  module->setAttr(kAttribute, builder.getArrayAttr(guards));
}

} // namespace smelt::passes
