#include "passes/guard.h"

#include "ir/decisions.h"

using namespace mlir;

namespace smelt::passes {

void requireLessEqual(ModuleOp module, Dim left, Dim right, const Twine &message) {
  if (left.isKnownLessEqual(right))
    return;
  bool isKnown = llvm::any_of(getGuards(module), [&](GuardAttr guard) {
    return guard.getRelation() == Relation::less_equal && Dim(guard.getLeft()) == left &&
           Dim(guard.getRight()) == right;
  });
  if (!isKnown)
    addGuards(module, GuardAttr::get(module.getContext(), left.getAttribute(), Relation::less_equal,
                                     right.getAttribute(), message.str()));
}

} // namespace smelt::passes
