#include "passes/remark.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace smelt::passes {

SmallVector<StringRef> nodeNames(Location location) {
  llvm::SetVector<StringRef> names;
  location->walk([&](Location inner) {
    if (auto named = dyn_cast<NameLoc>(inner))
      names.insert(named.getName().getValue());
    return WalkResult::advance();
  });
  return names.takeVector();
}

std::string nodeName(Location location) {
  std::string name = "an unnamed op";
  location->walk([&](Location inner) {
    auto named = dyn_cast<NameLoc>(inner);
    if (named)
      name = named.getName().str();
    return named ? WalkResult::interrupt() : WalkResult::advance();
  });
  return name;
}

Remarks::~Remarks() {
  if (records.empty())
    return;
  constexpr StringRef kAttribute = "smelt.remarks";
  SmallVector<Attribute> all;
  if (auto existing = module->getAttrOfType<ArrayAttr>(kAttribute))
    all.append(existing.begin(), existing.end());
  all.append(records);
  module->setAttr(kAttribute, ArrayAttr::get(module.getContext(), all));
}

void Remarks::taken(Location location, StringRef fusion, const Twine &message) {
  add(location, fusion, true, "", message);
}

void Remarks::refused(Location location, StringRef fusion, StringRef predicate,
                      const Twine &message) {
  add(location, fusion, false, predicate, message);
}

void Remarks::add(Location location, StringRef fusion, bool taken, StringRef predicate,
                  const Twine &message) {
  Builder builder(module.getContext());
  records.push_back(builder.getDictionaryAttr({
      builder.getNamedAttr("node", builder.getStringAttr(nodeName(location))),
      builder.getNamedAttr("fusion", builder.getStringAttr(fusion)),
      builder.getNamedAttr("taken", builder.getBoolAttr(taken)),
      builder.getNamedAttr("predicate", builder.getStringAttr(predicate)),
      builder.getNamedAttr("message", builder.getStringAttr(message)),
  }));
}

} // namespace smelt::passes
