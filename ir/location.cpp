#include "ir/location.h"

#include "mlir/IR/Location.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace smelt {

namespace {

/// Calls `visit` for each name until it returns false; false where it did. Callers of a call site
/// and the locations inside a name are not the node's own.
bool visitNames(Location location, llvm::function_ref<bool(StringRef)> visit) {
  if (auto name = dyn_cast<NameLoc>(location))
    return visit(name.getName().getValue());
  if (auto fused = dyn_cast<FusedLoc>(location))
    return llvm::all_of(fused.getLocations(),
                        [&](Location part) { return visitNames(part, visit); });
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return visitNames(call.getCallee(), visit);
  return true;
}

} // namespace

SmallVector<StringRef> nodeNames(Location location) {
  llvm::SetVector<StringRef> names;
  visitNames(location, [&](StringRef name) {
    names.insert(name);
    return true;
  });
  return names.takeVector();
}

std::string nodeName(Location location) {
  std::string first = "an unnamed op";
  visitNames(location, [&](StringRef name) {
    first = name.str();
    return false;
  });
  return first;
}

} // namespace smelt
